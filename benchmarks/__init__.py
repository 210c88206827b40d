"""What the operator costs, on the real control plane, with pods that a node simulator runs.

    make bench            everything, into benchmarks/RESULTS.md
    make bench QUICK=1    the small sizes

Only ratios of one run compare: a machine's speed drifts. So every run measures its own floor, a
bare loop that creates the same objects with no operator.
"""
