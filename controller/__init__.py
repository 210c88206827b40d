"""The machine: client, informers, queue, workers, leader election, events, health, command line."""
