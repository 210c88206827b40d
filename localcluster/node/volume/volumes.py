"""A pod's volumes: the folder for each on this machine, prepared before any container starts.

Only the pod's worker thread uses it. A volume that is not ready yet raises VolumeError, with a
message like the kubelet's, and the worker tries it again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.client.rest import Raw, ServerClient
from localcluster.cluster.config import ClusterConfig
from localcluster.node.runtime.protocol import Mount
from localcluster.node.runtime.runtime import Runtime
from localcluster.node.spec.env import PodFacts, expand, field_value, resource_value
from localcluster.node.spec.objects import ConfigError, content_of
from localcluster.node.spec.quantity import parse_quantity
from localcluster.node.volume.payload import File, write_payload
from localcluster.node.volume.tokens import Tokens

DEFAULT_MODE = 0o644
REFRESHED = ("configMap", "secret", "downwardAPI", "projected")


class VolumeError(Exception):
    """A volume cannot be mounted yet."""


@dataclass
class Volumes:
    """The volumes of one pod, by name."""

    pod: Raw
    folder: Path
    config: ClusterConfig
    runtime: Runtime
    client: ServerClient
    facts: PodFacts
    tokens: Tokens
    memory_volumes: list[Path] = field(default_factory=list)
    _paths: dict[str, Path] = field(default_factory=dict)
    _read_only: set[str] = field(default_factory=set)

    def prepare(self) -> None:
        """Create every volume that does not exist yet. Raises VolumeError, ApiError, OSError."""
        for volume in self.pod["spec"].get("volumes") or []:
            if volume["name"] not in self._paths:
                self._paths[volume["name"]] = self._make(volume)

    def refresh(self) -> None:
        """Update files from ConfigMaps, Secrets, labels and tokens. Raises as `prepare` does."""
        for volume in self.pod["spec"].get("volumes") or []:
            if any(kind in volume for kind in REFRESHED):
                self._make(volume)

    def shows_config_map(self, name: str) -> bool:
        """Whether any volume contains files of this ConfigMap."""
        sources = list(self.pod["spec"].get("volumes") or [])
        for volume in list(sources):
            sources += (volume.get("projected") or {}).get("sources") or []
        return any((source.get("configMap") or {}).get("name") == name for source in sources)

    def mounts(self, container: Raw, env: dict[str, str]) -> list[Mount]:
        """The mounts of a container; creates missing subPath folders. Raises VolumeError."""
        return [self._mount(each, env) for each in container.get("volumeMounts") or []]

    def _mount(self, mount: Raw, env: dict[str, str]) -> Mount:
        name = mount["name"]
        source = self._paths[name]
        sub_path = mount.get("subPath") or expand(mount.get("subPathExpr", ""), env)
        if sub_path:
            if sub_path.startswith("/") or ".." in Path(sub_path).parts:
                raise VolumeError(f'volume "{name}": subPath "{sub_path}" leaves the volume')
            source = source / sub_path
            if not source.exists():
                source.mkdir(parents=True)
            source = source.resolve()
        target = "/" + mount["mountPath"].lstrip("/")
        read_only = bool(mount.get("readOnly")) or name in self._read_only
        return Mount(str(source), target, read_only)

    def _make(self, volume: Raw) -> Path:
        makers: dict[str, Callable[[str, Raw, str], Path]] = {
            "emptyDir": self._empty_dir,
            "hostPath": self._host_path,
            "configMap": self._payload,
            "secret": self._payload,
            "downwardAPI": self._payload,
            "projected": self._payload,
            "persistentVolumeClaim": self._claim,
            "nfs": self._nfs,
        }
        kind = next((kind for kind in makers if kind in volume), None)
        if kind is None:
            kinds = ", ".join(sorted(set(volume) - {"name"}))
            raise VolumeError(
                f'volume "{volume["name"]}": this node has no volumes of kind {kinds}'
            )
        try:
            return makers[kind](volume["name"], volume[kind] or {}, kind)
        except ConfigError as error:
            message = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'
            raise VolumeError(message) from error

    def _empty_dir(self, name: str, source: Raw, _: str) -> Path:
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
        if source.get("medium") == "Memory":
            size = int(parse_quantity(source["sizeLimit"])) if source.get("sizeLimit") else 0
            self.runtime.mount_tmpfs(path, size)
            self.memory_volumes.append(path)
        return path

    def _host_path(self, name: str, source: Raw, _: str) -> Path:
        path = Path(self.config.host_path_root or "/", source["path"].lstrip("/"))
        kind = source.get("type") or ""
        if kind in ("DirectoryOrCreate", "") and not path.exists():
            path.mkdir(parents=True)  # container runtimes make a missing folder, too
        elif kind == "FileOrCreate" and not path.exists():
            path.touch(0o644)
        tests = {
            "Directory": path.is_dir,
            "DirectoryOrCreate": path.is_dir,
            "File": path.is_file,
            "FileOrCreate": path.is_file,
            "Socket": path.is_socket,
            "CharDevice": path.is_char_device,
            "BlockDevice": path.is_block_device,
        }
        if kind in tests and not tests[kind]():
            raise VolumeError(
                f'MountVolume.SetUp failed for volume "{name}" : hostPath type check failed: '
                f"{source['path']} is not a {kind.removesuffix('OrCreate').lower()}"
            )
        return path

    def _nfs(self, name: str, source: Raw, _: str) -> Path:
        assert self.config.nfs_root is not None
        path: Path = self.config.nfs_root / source["server"] / source["path"].strip("/")
        path.mkdir(parents=True, exist_ok=True)
        if source.get("readOnly"):
            self._read_only.add(name)
        return path

    def _claim(self, name: str, source: Raw, _: str) -> Path:
        namespace = self.pod["metadata"]["namespace"]
        claim_name = source["claimName"]
        claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        claim = self.client.get(f"{claims}/{claim_name}")
        if (claim.get("status") or {}).get("phase") != "Bound":
            raise VolumeError(f'PersistentVolumeClaim "{claim_name}" is not bound')
        volume = self.client.get(f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}")["spec"]
        if source.get("readOnly"):
            self._read_only.add(name)
        if "nfs" in volume:
            return self._nfs(name, volume["nfs"], "nfs")
        if "hostPath" in volume:
            return self._host_path(name, volume["hostPath"], "hostPath")
        if "local" in volume:
            return self._host_path(name, volume["local"] | {"type": "Directory"}, "hostPath")
        raise VolumeError(f'PersistentVolume of "{claim_name}" is neither nfs, hostPath nor local')

    def _payload(self, name: str, source: Raw, kind: str) -> Path:
        path = self.folder / name
        sources = source.get("sources") or [] if kind == "projected" else [{kind: source}]
        mode = source.get("defaultMode") or DEFAULT_MODE
        files: dict[str, File] = {}
        for each in sources:
            files |= self._files_of(each, mode)
        write_payload(path, files)
        self._read_only.add(name)
        return path

    def _files_of(self, source: Raw, mode: int) -> dict[str, File]:
        if projection := source.get("serviceAccountToken"):
            token = self.tokens.get(projection)
            return {projection["path"]: File(token.encode(), mode)}
        if "downwardAPI" in source:
            return self._downward_files(source["downwardAPI"], mode)
        kind = "configMap" if "configMap" in source else "secret"
        if kind not in source:
            raise ConfigError(f"unsupported source {', '.join(source)}")
        return self._object_files(source[kind], kind, mode)

    def _downward_files(self, source: Raw, mode: int) -> dict[str, File]:
        files = {}
        for item in source.get("items") or []:
            if reference := item.get("fieldRef"):
                text = field_value(self.pod, reference["fieldPath"], self.facts)
            else:
                text = str(resource_value(self.pod, {}, item["resourceFieldRef"], self.facts))
            files[item["path"]] = File(text.encode(), item.get("mode") or mode)
        return files

    def _object_files(self, source: Raw, kind: str, mode: int) -> dict[str, File]:
        namespace = self.pod["metadata"]["namespace"]
        content = content_of(self.client, kind, namespace, source)
        if not source.get("items"):
            return {key: File(data, mode) for key, data in content.items()}
        files = {}
        for item in source["items"]:
            if item["key"] in content:
                files[item["path"]] = File(content[item["key"]], item.get("mode") or mode)
            elif not source.get("optional"):
                raise ConfigError(f"references non-existent {kind.lower()} key: {item['key']}")
        return files
