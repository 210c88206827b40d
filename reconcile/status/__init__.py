"""What the job says of itself: counts, phase, conditions and the reason for which it waits."""
