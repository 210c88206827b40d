"""However often a held job was changed, it starts as one that was submitted so."""

import json
import random

from tests.live.lab import Lab, Raw, paddle_job, shell

JOBS = 5
EDITS = 6
ENDS = {"worker": (1, shell("exit 0"))}


def draw_change(rng: random.Random) -> Raw:
    pod = {"nodeSelector": {"accelerator": rng.choice(["nvidia-tesla-p100", None])}}
    labels = {"queue": rng.choice(["day", "night", None])}
    return rng.choice(
        [
            {"worker": {"replicas": rng.randint(1, 3)}},
            {"worker": {"template": {"metadata": {"labels": labels}}}},
            {"worker": {"template": {"spec": pod}}},
            {"worker": {"template": {"spec": {"tolerations": tolerations(rng)}}}},
            {"backoffLimit": rng.choice([None, 0, 3])},
            {"activeDeadlineSeconds": rng.choice([None, 600, 900])},
            {"cleanPodPolicy": rng.choice(["Never", "OnFailure"])},
        ]
    )


def tolerations(rng: random.Random) -> list[Raw] | None:
    return rng.choice([None, [{"key": "night", "operator": "Exists"}]])


def test_held_job_that_was_changed_at_random_starts_like_a_new_one(lab: Lab) -> None:
    number = random.SystemRandom().getrandbits(32)
    rng = random.Random(number)
    names = [f"edited-{each}" for each in range(JOBS)]
    lab.submit(*(paddle_job(n, ENDS, suspend=True, cleanPodPolicy="Never") for n in names))
    lab.wait_all(names, "Suspended")
    for name in names:
        for _ in range(EDITS):
            lab.edit(name, **draw_change(rng))
        spec = lab.job(name)["spec"]
        lab.edit(name, suspend=False)
        twin = {**paddle_job(f"twin-of-{name}", {}), "spec": {**spec, "suspend": False}}
        lab.submit(twin)
    for name in names:
        lab.wait_completed(name)
        lab.wait_completed(f"twin-of-{name}")
        assert pods(lab, name) == pods(lab, f"twin-of-{name}"), f"seed {number}"


def pods(lab: Lab, job: str) -> list[str]:
    """The job's pods as they were created, without what differs from job to job."""
    uid = lab.job(job)["metadata"]["uid"]
    told = []
    for pod in lab.pods(job):
        spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
        text = json.dumps([pod["metadata"]["labels"], spec], sort_keys=True)
        spec_volumes = [
            v["name"] for v in spec["volumes"] if v["name"].startswith("kube-api-access")
        ]
        for own in (*spec_volumes, uid, uid.replace("-", "_"), job):
            text = text.replace(own, "x")
        told.append(text)
    return told
