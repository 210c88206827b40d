"""The job's status: counts, phase, conditions and why it waits."""
