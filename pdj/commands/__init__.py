"""The commands, a module for each: `configure` adds the options, and `run` does the work.

A module is imported only when its command is used, because imports take time.
"""

from typing import NamedTuple


class Command(NamedTuple):
    """A command's module, and its `--help` text."""

    module: str
    help: str


COMMANDS = {
    "submit": Command("submit", "create jobs from files"),
    "run": Command("run", "create a job from an image and a command"),
    "list": Command("list", "list jobs"),
    "status": Command("status", "show a job with its pods and attempts"),
    "explain": Command("explain", "explain the state of a job, and who has to do what next"),
    "compare": Command("compare", "show two jobs side by side: their losses, and what differs"),
    "logs": Command("logs", "print the logs of all pods of a job, in order of time"),
    "code": Command("code", "list the code that a job was sent with, or write it to a folder"),
    "suspend": Command("suspend", "suspend jobs: their pods are deleted, the jobs stay"),
    "resume": Command("resume", "resume suspended jobs"),
    "scale": Command("scale", "change how many workers an elastic or suspended job has"),
    "restart": Command(
        "restart", "restart jobs: begin a new attempt, which does not count against backoffLimit"
    ),
    "delete": Command("delete", "delete jobs and everything that they own"),
    "backup": Command("backup", "print jobs with their status and code, for restore"),
    "restore": Command("restore", "bring back the jobs of a backup; ended ones do not train again"),
    "render": Command(
        "render", "print the objects that the operator would create for a file, offline"
    ),
    "lint": Command("lint", "check files offline: what would be refused, and advice"),
    "convert": Command("convert", "convert Kubeflow's, Volcano's and plain Jobs to PaddleJobs"),
    "migrate": Command("migrate", "move a cluster from paddle-operator 0.3 to this operator"),
    "debug": Command("debug", "write a tar file with everything that helps to find a problem"),
    "ui": Command("ui", "show jobs in a browser: their state, timeline and logs"),
    "mcp": Command("mcp", "serve these commands as tools for an agent, over standard input"),
    "top": Command("top", "show the resource usage of a job's pods, if the cluster measures it"),
    "completion": Command("completion", "print a shell's completion script for these commands"),
    "version": Command("version", "print the versions of this tool and of the cluster"),
}
