"""What a program said before it ended: its last lines, and the one that says why."""
