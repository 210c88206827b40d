"""What is done to a job in a cluster, and what is waited for: without a screen, without options."""
