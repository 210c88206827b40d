"""PaddleJobs that must not be admitted, each with the field at fault and what is said of it.

`schema` are those that the CRD's schema refuses, `rules` those that take CEL or the operator's
own validation; an API server has to refuse them all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.memory.builders import a_job, a_template

Raw = dict[str, Any]
CODES: Raw = {"operator": "In", "values": [3]}


@dataclass(frozen=True, slots=True)
class BadJob:
    """`field` is the path that the API server names; `says` is part of its reason."""

    name: str
    job: Raw
    field: str
    says: str

    def __str__(self) -> str:
        return self.name


def with_spec(**fields: Any) -> Raw:
    """A job of two workers, these fields of its spec set; None takes a field away."""
    job = a_job().with_workers(2).build()
    job["spec"] |= fields
    job["spec"] = {name: value for name, value in job["spec"].items() if value is not None}
    return job


def with_worker(**fields: Any) -> Raw:
    """A job of two workers, these fields of the role set."""
    job = a_job().with_workers(2).build()
    job["spec"]["worker"] |= fields
    return job


def with_pod(**fields: Any) -> Raw:
    """A job whose workers' pod spec has these fields."""
    return a_job().with_workers(2, a_template(**fields)).build()


def with_container(**fields: Any) -> Raw:
    """A job whose workers' container has these fields."""
    return with_pod(containers=[{"name": "paddle", "image": "i", **fields}])


def with_name(name: str, replicas: int = 1) -> Raw:
    """A job of this name."""
    return a_job(name).with_workers(replicas).build()


def with_port(*values: Any, name: str = "paddle") -> Raw:
    """A PS job whose servers' and workers' trainers have these PADDLE_PORT entries, or none."""
    job = a_job().with_ps(1).with_workers(1).build()
    for role, value in zip(("ps", "worker"), values, strict=True):
        entry = value if isinstance(value, dict) else {"value": value}
        env = [] if value is None else [{"name": "PADDLE_PORT", **entry}]
        container = {"name": name, "image": "i", "env": env}
        job["spec"][role]["template"] = {"spec": {"containers": [container]}}
    return job


def with_failure_rule(**rule: Any) -> Raw:
    """A job with a podFailurePolicy of one rule."""
    return with_spec(podFailurePolicy={"rules": [{"action": "FailJob", **rule}]})


def schema() -> Iterator[BadJob]:
    """What types, bounds and required fields refuse."""
    worker, pod = "spec.worker", "spec.worker.template.spec"
    yield BadJob("unknown-field", with_spec(wrokers=1), "spec.wrokers", "unknown field")
    yield BadJob(
        "unknown-field-of-role", with_worker(replica=1), f"{worker}.replica", "unknown field"
    )
    yield BadJob("unknown-pod-field", with_pod(volume=[]), f"{pod}.volume", "unknown field")
    yield BadJob(
        "unknown-container-field",
        with_container(imagePullpolicy="Always"),
        f"{pod}.containers[0].imagePullpolicy",
        "unknown field",
    )
    yield from _wrong_types(worker, pod)
    yield from _wrong_values(worker)
    yield BadJob("no-worker", with_spec(worker=None), worker, "Required")
    yield BadJob("no-template", with_spec(worker={"replicas": 1}), f"{worker}.template", "Required")
    yield BadJob("no-pod-spec", with_worker(template={}), f"{worker}.template.spec", "Required")
    yield BadJob("no-containers", with_pod(containers=[]), f"{pod}.containers", "at least 1")
    yield BadJob(
        "no-container-name",
        with_pod(containers=[{"image": "i"}]),
        f"{pod}.containers[0].name",
        "Required",
    )
    yield BadJob(
        "two-containers-of-a-name",
        with_pod(containers=[{"name": "a", "image": "i"}] * 2),
        f"{pod}.containers[1]",
        "Duplicate",
    )


def _wrong_types(worker: str, pod: str) -> Iterator[BadJob]:
    one = f"{pod}.containers[0]"
    yield BadJob("replicas-string", with_worker(replicas="2"), f"{worker}.replicas", "integer")
    yield BadJob("replicas-fraction", with_worker(replicas=1.5), f"{worker}.replicas", "integer")
    yield BadJob("suspend-string", with_spec(suspend="yes"), "spec.suspend", "boolean")
    yield BadJob("containers-object", with_pod(containers={}), f"{pod}.containers", "array")
    yield BadJob(
        "env-number",
        with_container(env=[{"name": "A", "value": 1}]),
        f"{one}.env[0].value",
        "string",
    )
    yield BadJob(
        "label-boolean",
        with_worker(template=a_template() | {"metadata": {"labels": {"a": True}}}),
        f"{worker}.template.metadata.labels.a",
        "string",
    )
    for name, value in {"object": {"a": 1}, "list": ["1"], "boolean": True}.items():
        yield BadJob(
            f"quantity-{name}",
            with_container(resources={"limits": {"cpu": value}}),
            f"{one}.resources.limits.cpu",
            "Invalid" if name == "boolean" else "at most",
        )
    yield BadJob(
        "volume-number", with_pod(volumes=[{"name": 1}]), f"{pod}.volumes[0].name", "string"
    )


def _wrong_values(worker: str) -> Iterator[BadJob]:
    yield BadJob("gloo-3", with_spec(withGloo=3), "spec.withGloo", '"0", "1", "2"')
    yield BadJob("clean-policy", with_spec(cleanPodPolicy="Yes"), "spec.cleanPodPolicy", "OnFail")
    yield BadJob("intranet", with_spec(intranet="podIP"), "spec.intranet", "PodIP")
    yield BadJob("elastic-negative", with_spec(elastic=-1), "spec.elastic", "0")
    yield BadJob("replicas-negative", with_worker(replicas=-1), f"{worker}.replicas", "1")
    yield BadJob("replicas-0", with_worker(replicas=0), f"{worker}.replicas", "1")
    yield BadJob("replicas-1e9", with_worker(replicas=10**9), f"{worker}.replicas", "10000")
    ps = {"replicas": 0, "template": a_template()}
    yield BadJob("ps-replicas-0", with_spec(ps=ps), "spec.ps.replicas", "1")
    yield BadJob("backoff-negative", with_spec(backoffLimit=-1), "spec.backoffLimit", "0")
    yield BadJob("backoff-int64", with_spec(backoffLimit=2**40), "spec.backoffLimit", "2147483647")
    yield BadJob("ttl", with_spec(ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished", "0")
    yield BadJob("deadline", with_spec(activeDeadlineSeconds=-1), "spec.activeDeadlineSeconds", "0")
    yield BadJob(
        "starting-deadline", with_spec(startingDeadlineSeconds=0), "spec.startingDeadline", "1"
    )
    yield BadJob("managed-by", with_spec(managedBy="kueue"), "spec.managedBy", "should match")
    yield BadJob("managed-by-long", with_spec(managedBy="a.b/" + "c" * 64), "spec.managedBy", "63")
    policy = {"minAvailable": 0}
    yield BadJob("min-0", with_spec(schedulingPolicy=policy), "spec.schedulingPolicy.minA", "1")
    yield BadJob(
        "restart-policy",
        with_pod(restartPolicy="Sometimes"),
        f"{worker}.template.spec.restartPolicy",
        "should match",
    )
    stall = "spec.stallPolicy"
    yield BadJob("stall-1", with_spec(stallPolicy={"afterSeconds": 1}), f"{stall}.after", "120")
    yield BadJob("stall-of", with_spec(stallPolicy={"of": "Loss"}), f"{stall}.of", "Step")
    yield BadJob("stall-action", with_spec(stallPolicy={"action": "Stop"}), f"{stall}.act", "Event")
    yield BadJob("resume", with_spec(resume="Always"), "spec.resume", "Paddle")
    rule = "spec.podFailurePolicy.rules[0]"
    yield BadJob(
        "failure-action",
        with_spec(podFailurePolicy={"rules": [{"action": "FailIndex", "onExitCodes": CODES}]}),
        f"{rule}.action",
        "Ignore",
    )
    yield BadJob(
        "exit-codes-none",
        with_failure_rule(onExitCodes={"operator": "In", "values": []}),
        f"{rule}.onExitCodes.values",
        "at least 1",
    )


def rules() -> Iterator[BadJob]:
    """What a rule refuses, since no schema can."""
    for name in ("1st", "a.b", "Job", "job-", "a_b"):
        # An API server has its own words for what no object may be called.
        says = "DNS-1035" if name in ("1st", "a.b") else "RFC 1123"
        yield BadJob(f"name-{name}", with_name(name), "metadata.name", says)
    yield BadJob("name-55", with_name("a" * 55), "metadata.name", "63 characters")
    yield BadJob("name-54-of-11", with_name("a" * 54, 11), "metadata.name", "63 characters")
    yield BadJob(
        "restart-always",
        with_pod(restartPolicy="Always"),
        "spec.worker.template.spec.restartPolicy",
        "must be Never",
    )
    yield from _bounds()
    yield from _combinations()
    yield from _failure_rules()


def _bounds() -> Iterator[BadJob]:
    big = {"replicas": 6000, "template": a_template()}
    yield BadJob("sum", with_spec(ps=big, worker=big), "spec", "sum up to more than 10000")
    wide = {"replicas": 1, "limits": 10000, "template": a_template()}
    yield BadJob("sum-of-limits", with_spec(ps=wide, worker=wide), "spec", "10000")
    yield BadJob("requests", with_worker(requests=3), "spec.worker", "requests must not be more")
    yield BadJob("limits", with_worker(limits=1), "spec.worker", "limits must not be less")
    yield BadJob(
        "min-available",
        with_spec(schedulingPolicy={"minAvailable": 3}),
        "spec",
        "minAvailable must not be more than the replicas",
    )


def _combinations() -> Iterator[BadJob]:
    role = {"replicas": 1, "template": a_template()}
    for name in ("ps", "heter"):
        job = with_spec(elastic=1, **{name: role})
        yield BadJob(f"elastic-{name}", job, "spec.elastic", "workers only")
    job = with_spec(elastic=1, stallPolicy={"of": "Step"})
    yield BadJob("elastic-stall", job, "spec", "stallPolicy.of must be Output")
    yield BadJob(
        "clean-policies",
        with_spec(cleanPodPolicy="Never", cleanPolicy="Always"),
        "spec",
        "must not differ",
    )
    other = {"replicas": 1, "template": a_template(schedulerName="other")}
    worker = {"replicas": 1, "template": a_template(schedulerName="volcano")}
    yield BadJob("schedulers", with_spec(ps=other, worker=worker), "spec", "schedulerName must be")
    restarts = {"replicas": 1, "template": a_template(restartPolicy="OnFailure")}
    yield BadJob(
        "failure-policy-on-failure",
        with_spec(ps=restarts, podFailurePolicy={"rules": []}),
        "spec",
        "podFailurePolicy needs restartPolicy Never",
    )


def _failure_rules() -> Iterator[BadJob]:
    path, says = "spec.podFailurePolicy.rules[0]", "exactly one"
    condition = [{"type": "DisruptionTarget"}]
    yield BadJob("failure-neither", with_failure_rule(), path, says)
    yield BadJob(
        "failure-both",
        with_failure_rule(onExitCodes=CODES, onPodConditions=condition),
        path,
        says,
    )
    yield BadJob(
        "exit-code-0",
        with_failure_rule(onExitCodes={"operator": "In", "values": [0, 1]}),
        f"{path}.onExitCodes",
        "must not hold 0",
    )


def python_only() -> Iterator[BadJob]:
    """What an API server cannot check: the operator says so in a condition."""
    field = "env[PADDLE_PORT]"
    says = "must be a literal port"
    yield BadJob("port-word", with_port("http", "http"), field, says)
    yield BadJob("port-0", with_port("0", "0"), field, says)
    yield BadJob("port-too-high", with_port("65530", "65530"), field, says)
    yield BadJob("port-of-one-role", with_port("30236", None), field, "the same")
    yield BadJob("ports-differ", with_port("30236", "30237"), field, "the same")
    reference = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    yield BadJob("port-reference", with_port(reference, reference), field, says)
    yield BadJob("port-of-first-container", with_port("x", "x", name="main"), field, says)
    yield BadJob(
        "exit-codes-of-nobody",
        with_failure_rule(onExitCodes={**CODES, "containerName": "other"}),
        "onExitCodes.containerName",
        "no container",
    )
