"""What takes time, processor or memory, measured alone: `make timings`."""
