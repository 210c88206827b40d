"""Says why a job is in its state, from facts alone: no request, clock or screen."""
