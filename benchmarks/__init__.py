"""Measures what the operator costs, on a real control plane, with pods that a node simulator runs.

    make bench            everything, into benchmarks/RESULTS.md
    make bench QUICK=1    the small sizes
    make bench BENCH_ARGUMENTS="--peer benchmarks/peers/training_operator.py --output FOLDER"
                          also Kubeflow's training operator, on the same work and side by side
    make bench BENCH_ARGUMENTS="--operator 'NAME=COMMAND'"
                          also another operator for the same CRD; COMMAND gets KUBECONFIG
    python -m benchmarks --burst 100 --against FOLDER
                          only bursts, alternately with the operator of the checkout in FOLDER

A machine's speed drifts, so only ratios within one run can be compared. Every run measures its own
floor: a bare loop that creates the same objects without an operator.
"""
