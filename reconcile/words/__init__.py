"""Reads a program's last lines, and finds the one that says why it ended."""
