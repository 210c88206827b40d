"""Every metric of the operator, and its recorders."""
