"""Builds the ConfigMap of a job's code, and changes the job so that its pods unpack the code."""

import base64
import copy
import hashlib
import json
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath

from api.constants import ANNOTATION_CODE, LABEL_CODE_OF, Role
from api.objects import Raw
from api.rules import NAME_MESSAGE, NAME_PATTERN
from api.trainer import trainer_of
from pdj.code.archive import MAX_CODE_BYTES, Archive
from pdj.code.folder import Say
from pdj.documents.parts import Part
from pdj.errors import Problem, Usage

ARCHIVE, REQUIREMENTS, UNPACK = "code.tar.gz", "requirements.txt", "unpack.py"
CODE, WORKSPACE_VOLUME, PACKAGES_VOLUME = "pdj-code", "pdj-workspace", "pdj-packages"
"""Names of volumes; the first is also the init container's name."""
SENT, WORKSPACE, PACKAGES = "/pdj-code", "/workspace", "/pdj-packages"
OURS = {CODE, WORKSPACE_VOLUME, PACKAGES_VOLUME}
COPIED = ("image", "imagePullPolicy", "securityContext")
PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage")
"""The init container gets these of the trainer's resources. Unpacking needs no devices."""
PYTHON = re.compile(r"(.*/)?python[\d.]*", re.DOTALL)
OF_PIP = re.compile(r"PIP_|.*_proxy$|.*_PROXY$")
"""Variables of the trainer that the init container gets too, for pip."""
PIECE_BYTES = 1 << 20
GZIP = 31
"""zlib's number for the format gzip."""
FIND_PYTHON = 'exec "$(command -v python || command -v python3 || echo python)" "$0" "$@"'


@dataclass(frozen=True, slots=True)
class Bundle:
    """A packed folder; `requirements` is the text of a file for pip, or None."""

    archive: Archive
    requirements: bytes | None = None
    requirements_path: str = ""
    """The path of the requirements in the pod, if they are a file of the folder."""
    index_url: str = ""

    @property
    def digest(self) -> str:
        """The digest of the bundle's ConfigMap, see `digest_of`."""
        return digest_of(self._content())

    def config_map_name(self, job: Raw) -> str:
        """The ConfigMap's name for this job. Raises Usage if the job has no valid name."""
        name = str(job["metadata"].get("name") or "")
        if not re.fullmatch(NAME_PATTERN, name):
            raise Usage(f"code needs a job with metadata.name, which {NAME_MESSAGE}")
        return f"{name}-code-{self.digest[:8]}"

    def config_map(self, job: Raw) -> Raw:
        """The ConfigMap of this job; it is immutable."""
        metadata: Raw = {
            "name": self.config_map_name(job),
            "labels": {LABEL_CODE_OF: job["metadata"]["name"]},
            "annotations": {ANNOTATION_CODE: self.digest},
        }
        if job["metadata"].get("namespace"):
            metadata["namespace"] = job["metadata"]["namespace"]
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True}
        return made | self._content()

    def _content(self) -> Raw:
        files = {ARCHIVE: self.archive.packed}
        if self.requirements is not None:
            files[REQUIREMENTS] = self.requirements
        source = resources.files(__package__).joinpath(UNPACK).read_text(encoding="utf-8")
        packed = {name: base64.b64encode(content).decode() for name, content in files.items()}
        return {"data": {UNPACK: source}, "binaryData": packed}

    def wrap(self, job: Raw, say: Say) -> tuple[Raw, Raw]:
        """The job's ConfigMap, and the job as by `attach`. Says so if a command names a file of the
        same name as one that is sent, but elsewhere, as the program of a volume is.
        """
        wrapped = self.config_map(job), self.attach(job)
        for path in self._passed_by(job["spec"]):
            name = job["metadata"]["name"]
            say(f"{name} names {path}, but what is sent lies in {WORKSPACE}")
        return wrapped

    def attach(self, job: Raw) -> Raw:
        """A copy of the job whose trainers start in the unpacked code. Raises Problem."""
        job = copy.deepcopy(job)
        name = self.config_map_name(job)
        try:
            roles = [job["spec"][str(role)] for role in Role if job["spec"].get(str(role))]
            for role in roles:
                self._attach(role["template"]["spec"], name)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Problem(
                f"the job {job['metadata']['name']} has no pod template to which code can be added",
                "kubectl pdj lint says where",
            ) from error
        return job

    def _passed_by(self, spec: Raw) -> list[str]:
        sent = {PurePosixPath(name).name for name in self.archive.sizes}
        roles = [str(role) for role in Role if spec.get(str(role))]
        parts = [Part(role, (), spec[role]["template"]["spec"], spec) for role in roles]
        words = [PurePosixPath(word) for part in parts for word in part.words]
        outside = (p for p in words if p.is_absolute() and not p.is_relative_to(WORKSPACE))
        return [str(path) for path in dict.fromkeys(outside) if path.name in sent]

    def _attach(self, pod: Raw, name: str) -> None:
        trainer = trainer_of(pod)
        _enter(trainer, self.requirements is not None)
        mounts = [{"name": WORKSPACE_VOLUME, "mountPath": WORKSPACE}]
        volumes: list[Raw] = [
            {"name": CODE, "configMap": {"name": name}},
            {"name": WORKSPACE_VOLUME, "emptyDir": {}},
        ]
        if self.requirements is not None:
            mounts.append({"name": PACKAGES_VOLUME, "mountPath": PACKAGES})
            volumes.append({"name": PACKAGES_VOLUME, "emptyDir": {}})
        trainer["volumeMounts"] = [*_others(trainer, "volumeMounts"), *mounts]
        pod["volumes"] = [*_others(pod, "volumes"), *volumes]
        pod["initContainers"] = [*_others(pod, "initContainers"), self._unpacker(trainer, mounts)]

    def _unpacker(self, trainer: Raw, mounts: list[Raw]) -> Raw:
        """The init container that unpacks the code. It comes last, so sidecars already run then."""
        command = [str(each) for each in trainer.get("command") or ()]
        is_python = command and PYTHON.fullmatch(command[0])
        python = command[:1] if is_python else ["sh", "-c", FIND_PYTHON]
        words = [f"{SENT}/{UNPACK}", f"{SENT}/{ARCHIVE}", WORKSPACE]
        if self.requirements is not None:
            words += [self.requirements_path or f"{SENT}/{REQUIREMENTS}", PACKAGES]
        env = [each for each in trainer.get("env") or () if OF_PIP.match(str(each["name"]))]
        if self.index_url:
            env = [each for each in env if each["name"] != "PIP_INDEX_URL"]
            env.append({"name": "PIP_INDEX_URL", "value": self.index_url})
        made: Raw = {"name": CODE} | {key: trainer[key] for key in COPIED if key in trainer}
        made |= {"command": [*python, *words]} | ({"env": env} if env else {})
        if resources_ := _plain(trainer.get("resources") or {}):
            made["resources"] = resources_
        return made | {"volumeMounts": [{"name": CODE, "mountPath": SENT}, *mounts]}


def digest_of(config_map: Raw) -> str:
    """SHA-256 of a ConfigMap's content, computed, because the annotation with it can be wrong.

    The archive is decompressed first: two versions of zlib can pack the same files differently.
    """
    files = dict(config_map.get("binaryData") or {})
    packed, unpacker = base64.b64decode(files.pop(ARCHIVE, "")), zlib.decompressobj(GZIP)
    digest, left = hashlib.sha256(), 2 * MAX_CODE_BYTES
    with suppress(zlib.error):
        while left and (piece := unpacker.decompress(packed, min(left, PIECE_BYTES))):
            digest.update(piece)
            packed, left = unpacker.unconsumed_tail, left - len(piece)
        files[ARCHIVE] = digest.hexdigest()
    held = [config_map.get("data"), files, unpacker.eof, unpacker.unused_data.hex()]
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()


def _others(holder: Raw, field: str) -> list[Raw]:
    """The items of a list without those that this module added when code was sent before."""
    return [each for each in holder.get(field) or () if each["name"] not in OURS]


def _enter(trainer: Raw, has_packages: bool) -> None:
    """Let the trainer start in the code's folder and find its packages. Raises Problem if the
    trainer's own settings prevent that.
    """
    folder = str(trainer.setdefault("workingDir", WORKSPACE))
    if PurePosixPath(WORKSPACE) not in (PurePosixPath(folder), *PurePosixPath(folder).parents):
        raise Problem(f"workingDir {folder}: the code is in {WORKSPACE}, so leave it out")
    if any(each.get("mountPath") == WORKSPACE for each in _others(trainer, "volumeMounts")):
        raise Problem(f"the trainer already has a volume at {WORKSPACE}, where the code must be")
    if not has_packages:
        return
    env = list(trainer.get("env") or ())
    before: Raw = next((each for each in env if each["name"] == "PYTHONPATH"), {})
    if "valueFrom" in before:
        raise Problem(
            "the trainer's PYTHONPATH comes from elsewhere: requirements need its literal value"
        )
    paths = [
        each for each in str(before.get("value") or "").split(":") if each not in ("", PACKAGES)
    ]
    path = {"name": "PYTHONPATH", "value": ":".join([PACKAGES, *paths])}
    trainer["env"] = [*(each for each in env if each is not before), path]


def _plain(resources_: Raw) -> Raw:
    kept = {
        kind: {name: value for name, value in (values or {}).items() if name in PLAIN_RESOURCES}
        for kind, values in resources_.items()
        if kind in ("limits", "requests")
    }
    return {kind: values for kind, values in kept.items() if values}
