"""Output for a terminal. Control characters in text from others are escaped."""
