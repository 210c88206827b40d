"""What is known about a job, also what could not be read. No module here sends a request."""
