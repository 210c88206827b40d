"""Pure decisions: (job, children, now) -> plan. No threads, no client, no clock, no logger."""
