"""What is known of a job, as values: read from the API server, with no word about how it looks."""
