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
    return with_spec(podFailurePolicy={"rules": [{"action": "FailJob", **rule}]})


def _in_spec(name: str, field: str, says: str, **fields: Any) -> BadJob:
    return BadJob(name, with_spec(**fields), f"spec.{field}", says)


def _in_worker(name: str, field: str, says: str, **fields: Any) -> BadJob:
    return BadJob(name, with_worker(**fields), f"spec.worker.{field}", says)


def _in_pod(name: str, field: str, says: str, **fields: Any) -> BadJob:
    return BadJob(name, with_pod(**fields), f"spec.worker.template.spec.{field}", says)


def _in_container(name: str, field: str, says: str, **fields: Any) -> BadJob:
    path = f"spec.worker.template.spec.containers[0].{field}"
    return BadJob(name, with_container(**fields), path, says)


def _in_rule(name: str, field: str, says: str, **rule: Any) -> BadJob:
    path = f"spec.podFailurePolicy.rules[0]{field}"
    return BadJob(name, with_failure_rule(**rule), path, says)


def schema() -> Iterator[BadJob]:
    """What types, bounds and required fields refuse."""
    yield _in_spec("unknown-field", "wrokers", "unknown field", wrokers=1)
    yield _in_worker("unknown-field-of-role", "replica", "unknown field", replica=1)
    yield _in_pod("unknown-pod-field", "volume", "unknown field", volume=[])
    misspelt = "imagePullpolicy"
    yield _in_container(
        "unknown-container-field", misspelt, "unknown field", **{misspelt: "Always"}
    )
    yield from _wrong_types()
    yield from _wrong_values()
    yield _in_spec("no-worker", "worker", "Required", worker=None)
    yield _in_spec("no-template", "worker.template", "Required", worker={"replicas": 1})
    yield _in_worker("no-pod-spec", "template.spec", "Required", template={})
    yield _in_pod("no-containers", "containers", "at least 1", containers=[])
    nameless, twice = [{"image": "i"}], [{"name": "a", "image": "i"}] * 2
    yield _in_pod("no-container-name", "containers[0].name", "Required", containers=nameless)
    yield _in_pod("two-containers-of-a-name", "containers[1]", "Duplicate", containers=twice)


def _wrong_types() -> Iterator[BadJob]:
    yield _in_worker("replicas-string", "replicas", "integer", replicas="2")
    yield _in_worker("replicas-fraction", "replicas", "integer", replicas=1.5)
    yield _in_spec("suspend-string", "suspend", "boolean", suspend="yes")
    yield _in_pod("containers-object", "containers", "array", containers={})
    yield _in_container("env-number", "env[0].value", "string", env=[{"name": "A", "value": 1}])
    labelled = a_template() | {"metadata": {"labels": {"a": True}}}
    yield _in_worker("label-boolean", "template.metadata.labels.a", "string", template=labelled)
    for name, value in {"object": {"a": 1}, "list": ["1"], "boolean": True}.items():
        says, limits = "Invalid" if name == "boolean" else "at most", {"limits": {"cpu": value}}
        yield _in_container(f"quantity-{name}", "resources.limits.cpu", says, resources=limits)
    yield _in_pod("volume-number", "volumes[0].name", "string", volumes=[{"name": 1}])


def _wrong_values() -> Iterator[BadJob]:
    yield _in_spec("gloo-3", "withGloo", '"0", "1", "2"', withGloo=3)
    yield _in_spec("clean-policy", "cleanPodPolicy", "OnFail", cleanPodPolicy="Yes")
    yield _in_spec("intranet", "intranet", "PodIP", intranet="podIP")
    yield _in_spec("elastic-negative", "elastic", "0", elastic=-1)
    yield _in_worker("replicas-negative", "replicas", "1", replicas=-1)
    yield _in_worker("replicas-0", "replicas", "1", replicas=0)
    yield _in_worker("replicas-1e9", "replicas", "10000", replicas=10**9)
    ps = {"replicas": 0, "template": a_template()}
    yield _in_spec("ps-replicas-0", "ps.replicas", "1", ps=ps)
    yield _in_spec("backoff-negative", "backoffLimit", "0", backoffLimit=-1)
    yield _in_spec("backoff-int64", "backoffLimit", "2147483647", backoffLimit=2**40)
    yield _in_spec("ttl", "ttlSecondsAfterFinished", "0", ttlSecondsAfterFinished=-1)
    yield _in_spec("deadline", "activeDeadlineSeconds", "0", activeDeadlineSeconds=-1)
    yield _in_spec("starting-deadline", "startingDeadline", "1", startingDeadlineSeconds=0)
    yield _in_spec("managed-by", "managedBy", "should match", managedBy="kueue")
    yield _in_spec("managed-by-long", "managedBy", "63", managedBy="a.b/" + "c" * 64)
    yield _in_spec("min-0", "schedulingPolicy.minA", "1", schedulingPolicy={"minAvailable": 0})
    yield _in_pod("restart-policy", "restartPolicy", "should match", restartPolicy="Sometimes")
    yield _in_spec("stall-1", "stallPolicy.after", "120", stallPolicy={"afterSeconds": 1})
    yield _in_spec("stall-of", "stallPolicy.of", "Step", stallPolicy={"of": "Loss"})
    yield _in_spec("stall-action", "stallPolicy.act", "Event", stallPolicy={"action": "Stop"})
    yield _in_spec("resume", "resume", "Paddle", resume="Always")
    yield _in_rule("failure-action", ".action", "Ignore", action="FailIndex", onExitCodes=CODES)
    none: Raw = {"operator": "In", "values": []}
    yield _in_rule("exit-codes-none", ".onExitCodes.values", "at least 1", onExitCodes=none)


def rules() -> Iterator[BadJob]:
    """What a rule refuses, since no schema can."""
    for name in ("1st", "a.b", "Job", "job-", "a_b"):
        # An API server has its own words for what no object may be called.
        says = "DNS-1035" if name in ("1st", "a.b") else "RFC 1123"
        yield BadJob(f"name-{name}", with_name(name), "metadata.name", says)
    yield BadJob("name-55", with_name("a" * 55), "metadata.name", "63 characters")
    yield BadJob("name-54-of-11", with_name("a" * 54, 11), "metadata.name", "63 characters")
    yield _in_pod("restart-always", "restartPolicy", "must be Never", restartPolicy="Always")
    yield from _bounds()
    yield from _combinations()
    says, condition = "exactly one", [{"type": "DisruptionTarget"}]
    yield _in_rule("failure-neither", "", says)
    yield _in_rule("failure-both", "", says, onExitCodes=CODES, onPodConditions=condition)
    success = {"operator": "In", "values": [0, 1]}
    yield _in_rule("exit-code-0", ".onExitCodes", "must not contain 0", onExitCodes=success)


def _bounds() -> Iterator[BadJob]:
    big = {"replicas": 6000, "template": a_template()}
    yield BadJob("sum", with_spec(ps=big, worker=big), "spec", "sum up to more than 10000")
    wide = {"replicas": 1, "limits": 10000, "template": a_template()}
    yield BadJob("sum-of-limits", with_spec(ps=wide, worker=wide), "spec", "10000")
    yield BadJob("requests", with_worker(requests=3), "spec.worker", "requests must not be more")
    yield BadJob("limits", with_worker(limits=1), "spec.worker", "limits must not be less")
    job = with_spec(schedulingPolicy={"minAvailable": 3})
    yield BadJob("min-available", job, "spec", "minAvailable must not be more than the replicas")


def _combinations() -> Iterator[BadJob]:
    role = {"replicas": 1, "template": a_template()}
    for name in ("ps", "heter"):
        job = with_spec(elastic=1, **{name: role})
        yield BadJob(f"elastic-{name}", job, "spec.elastic", "workers only")
    job = with_spec(elastic=1, stallPolicy={"of": "Step"})
    yield BadJob("elastic-stall", job, "spec", "stallPolicy.of must be Output")
    job = with_spec(cleanPodPolicy="Never", cleanPolicy="Always")
    yield BadJob("clean-policies", job, "spec", "must not differ")
    other = {"replicas": 1, "template": a_template(schedulerName="other")}
    worker = {"replicas": 1, "template": a_template(schedulerName="volcano")}
    yield BadJob("schedulers", with_spec(ps=other, worker=worker), "spec", "schedulerName must be")
    restarts = {"replicas": 1, "template": a_template(restartPolicy="OnFailure")}
    job = with_spec(ps=restarts, podFailurePolicy={"rules": []})
    says = "podFailurePolicy needs restartPolicy Never"
    yield BadJob("failure-policy-on-failure", job, "spec", says)


def _restarts_of_containers() -> Iterator[BadJob]:
    says, trainer = "must leave out restartPolicy", {"name": "paddle", "image": "i"}
    again = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
    everything = [{**again[0], "action": "RestartAllContainers"}]
    for policy in ("Always", "OnFailure"):
        job = with_container(restartPolicy=policy)
        yield BadJob(f"trainer-{policy}", job, ".restartPolicy", says)
    own = with_pod(containers=[trainer | {"restartPolicy": "Never"}], restartPolicy="OnFailure")
    yield BadJob("trainer-never", own, "containers[0].restartPolicy", says)
    job = with_container(restartPolicy="Never", restartPolicyRules=again)
    yield BadJob("trainer-rules", job, ".restartPolicyRules", says)
    side = {"name": "logs", "restartPolicy": "Never", "restartPolicyRules": everything}
    job = with_pod(containers=[trainer, side])
    yield BadJob("sidecar-restarts-all", job, "containers[1].restartPolicyRules", says)
    job = with_pod(containers=[trainer], initContainers=[side])
    yield BadJob("init-restarts-all", job, "initContainers[0].restartPolicyRules", says)


def python_only() -> Iterator[BadJob]:
    """What an API server cannot check: the operator says so in a condition."""
    yield from _restarts_of_containers()
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
