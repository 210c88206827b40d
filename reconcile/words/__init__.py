"""Reads a program's log: why it ended, how far its training is, and whether it trains alone."""
