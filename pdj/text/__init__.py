"""Words and pictures for a terminal; everything that others wrote is made harmless first."""
