"""The data of a pass: views of a job and its pods, holds, moves and the plan."""
