"""What there is and what may be asked for: the plan, the views of a job and its pods, waits."""
