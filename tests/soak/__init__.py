"""Jobs on a local cluster of which everything fails at random, for as long as one likes.

`make soak MINUTES=30 SEED=7`. One number decides which jobs are submitted and what fails when; how
things come to meet is up to the machine. docs/soak.md says what is promised.
"""
