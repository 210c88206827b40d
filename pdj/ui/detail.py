"""Gathers everything that the page shows of one job."""

from dataclasses import asdict
from typing import Any

from api.catalogue.meaning import say
from api.constants import Role
from api.job import PaddleJob
from api.trainer import count_accelerators
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.facts.training import Training
from pdj.gather.pods import read_pod
from pdj.judge.judge import judge
from pdj.judge.story import Story
from pdj.text.curve import draw_curve
from pdj.text.explain import describe_finding
from pdj.text.progress import describe_training
from pdj.text.rows import row_of, seconds
from pdj.text.status import failure_text
from pdj.ui.timeline import draw_timeline

MAX_PODS = 500


def describe_job(facts: Facts, language: str) -> dict[str, Any]:
    """The message of a job's feed. Raises Problem if this version cannot read the job."""
    job, picture, training = facts.job, facts.picture, facts.training
    story = judge(facts)
    return {
        "type": "job",
        "row": row_of(picture.raw),
        "attempt": job.status.attempt,
        "suspended": job.spec.suspend,
        "workers": sum(s.replicas for role, s in job.spec.roles.items() if role == Role.WORKER),
        "scalable": job.spec.is_elastic or job.spec.suspend,
        "deleting": job.is_deleting,
        "whys": [describe_finding(each, language) for each in story.findings],
        "facts": {
            name: [say(line, language) for line in lines] for name, lines in story.evidence.items()
        },
        "training": _training(training, language) if training else None,
        "failures": _failures(job),
        "warnings": [say(line, language) for line in story.warnings],
        "conditions": _conditions(job),
        "events": _events(story),
        "roles": _roles(job),
        "pods": _pods(picture),
        "morePods": max(0, len(picture.pods) - MAX_PODS),
        "podsProblem": picture.pods_problem,
        "timeline": draw_timeline(picture, story.events),
    }


def _training(training: Training, language: str) -> dict[str, Any]:
    saved = training.progress.checkpoint
    return {
        "parts": describe_training(training, language),
        "percent": training.progress.percent,
        "curve": draw_curve(training.points, saved.step if saved else None),
    }


def _failures(job: PaddleJob) -> list[dict[str, Any]]:
    return [
        asdict(each) | {"time": seconds(each.time), "text": failure_text(each)}
        for each in reversed(job.status.failures)
    ]


def _conditions(job: PaddleJob) -> list[dict[str, Any]]:
    return [
        asdict(each) | {"since": seconds(each.last_transition_time)}
        for each in job.status.conditions
    ]


def _events(story: Story) -> list[dict[str, Any]]:
    return [each._asdict() | {"time": seconds(each.time)} for each in reversed(story.events)]


def _roles(job: PaddleJob) -> list[dict[str, Any]]:
    """For each role, how many pods it should have, how many run, and its accelerators."""
    return [
        {
            "role": role.value,
            "wanted": spec.replicas,
            "running": job.status.roles[role].running if role in job.status.roles else 0,
            "done": job.status.roles[role].succeeded if role in job.status.roles else 0,
            "accelerators": spec.replicas
            * sum(map(count_accelerators, spec.pod_spec.get("containers") or ())),
        }
        for role, spec in job.spec.roles.items()
    ]


def _pods(picture: JobPicture) -> list[dict[str, Any]]:
    """The pods in order; if there are too many, those that do not run come first."""
    pods = [*map(read_pod, picture.pods)]
    if len(pods) > MAX_PODS:
        pods.sort(key=lambda pod: pod.is_running)
    return [
        asdict(pod) | {"created_at": pod.created_at.timestamp() if pod.created_at else None}
        for pod in pods[:MAX_PODS]
    ]
