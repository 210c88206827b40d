"""The commands, one module each: `configure` adds its options, `run` runs it.

A module is imported when its command is used, so that no command pays for another.
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
    "explain": Command("explain", "say why a job is as it is, and who has to do what next"),
    "logs": Command("logs", "print the logs of all pods of a job, in order of time"),
    "code": Command("code", "say which code a job was sent with, or write it to a folder"),
    "suspend": Command("suspend", "hold jobs: their pods go, the jobs stay"),
    "resume": Command("resume", "let suspended jobs go on"),
    "scale": Command("scale", "change how many workers an elastic or suspended job has"),
    "restart": Command("restart", "begin a new attempt of jobs, which is not charged"),
    "delete": Command("delete", "delete jobs with all that is theirs"),
    "backup": Command("backup", "print jobs with their status and code, for restore"),
    "restore": Command("restore", "bring back the jobs of a backup; ended ones do not train again"),
    "render": Command("render", "print what the operator would make of a file, offline"),
    "lint": Command("lint", "check files offline: what would be refused, and advice"),
    "convert": Command("convert", "make PaddleJobs of Kubeflow's, Volcano's and plain Jobs"),
    "migrate": Command("migrate", "move a cluster from paddle-operator 0.3 to this operator"),
    "debug": Command("debug", "write a tar file with all that helps to find what is wrong"),
    "ui": Command("ui", "show jobs on a page of this machine: why, when, logs"),
    "top": Command("top", "show what the pods of a job use, where the cluster measures it"),
    "completion": Command("completion", "print what makes a shell complete these commands"),
    "version": Command("version", "print the versions of this tool and of the cluster"),
}
