"""What tests on a real API server share: the lab, and what stands in it."""
