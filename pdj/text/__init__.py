"""Output for a terminal; text from others is made harmless first."""
