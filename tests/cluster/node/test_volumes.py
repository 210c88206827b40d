"""What containers mount, and that they touch nothing else of the machine."""

import os
from pathlib import Path
from typing import Any

from localcluster.client.rest import ServerClient
from localcluster.machine import clock
from tests.live import networks, patience
from tests.live.nodepods import (
    EMPTY,
    MOUNT,
    Pods,
    Raw,
    host_folder,
    shell,
    volume,
)


def run(pods: Pods, script: str, volumes: Raw, **container: Any) -> str:
    """The output of a container that mounts the volume at /v."""
    return pods.run(shell(script, **MOUNT | container), **volumes)


def test_empty_dir_outlives_a_restart_and_the_root_does_not(pods: Pods) -> None:
    script = "[ -e /v/seen ] && { ls /mine; exit 0; }; touch /v/seen; mkdir /mine; exit 1"
    main = shell(script, **MOUNT)
    pods.create("pod", main, restartPolicy="OnFailure", **EMPTY)
    pods.wait_phase("pod", "Succeeded")
    assert "No such file" in pods.log("pod")


def test_memory_empty_dir_is_of_its_size(pods: Pods) -> None:
    source = volume(emptyDir={"medium": "Memory", "sizeLimit": "8Mi"})
    output = run(pods, "df --output=fstype,size /v | tail -1", source)
    assert output.split() == ["tmpfs", "8192"]


def test_every_pod_has_shared_memory_of_its_own(pods: Pods) -> None:
    assert pods.run("touch /dev/shm/a && ls /dev/shm") == "a\n"
    assert pods.run("ls /dev/shm") == ""


def test_host_path_is_a_folder_of_the_node(pods: Pods, folders: Path) -> None:
    source, host = host_folder(folders, pods.namespace)
    (host / "in").write_text("from the node\n")
    seen = run(pods, "cat /v/in; echo back > /v/out", volume(**source))
    assert seen == "from the node\n"
    assert (host / "out").read_text() == "back\n"


def test_host_path_of_the_wrong_type_is_told(pods: Pods) -> None:
    none = {"path": f"/{pods.namespace}-none", "type": "Directory"}
    source = volume(hostPath=none)
    pods.create("pod", shell("exit 0", **MOUNT), **source)
    assert "hostPath type check failed" in pods.wait_event("FailedMount")
    pods.wait_state("pod", "waiting", "ContainerCreating")


def test_config_map_files(pods: Pods) -> None:
    pods.create_config_map("c", a="1", b="2")
    items = [{"key": "a", "path": "deep/er", "mode": 0o400}]
    whole = volume(configMap={"name": "c"})
    part = volume(configMap={"name": "c", "items": items})
    assert run(pods, "cd /v; for f in *; do echo $f $(cat $f); done", whole) == "a 1\nb 2\n"
    assert (
        run(pods, "find -L /v -type f ! -path '*/..*' -printf '%P %m\n'", part) == "deep/er 400\n"
    )


def test_config_map_changes_show_in_its_files(pods: Pods, client: ServerClient) -> None:
    pods.create_config_map("c", a="old")
    script = "until grep -q new /v/a; do sleep 0.1; done"
    pods.create("pod", shell(script, **MOUNT), **volume(configMap={"name": "c"}))
    pods.wait_ready("pod")
    path = f"/api/v1/namespaces/{pods.namespace}/configmaps/c"
    client.patch(path, {"data": {"a": "new"}})
    pods.wait_phase("pod", "Succeeded")


def test_a_missing_config_map_holds_the_pod(pods: Pods) -> None:
    source = volume(configMap={"name": "later"})
    pods.create("pod", shell("cat /v/a", **MOUNT), **source)
    assert 'configmap "later" not found' in pods.wait_event("FailedMount")
    pods.create_config_map("later", a="there")
    pods.wait_phase("pod", "Succeeded")
    assert pods.log("pod") == "there"


def test_secret_files_keep_their_bytes(pods: Pods, client: ServerClient) -> None:
    body = {"metadata": {"name": "s"}, "data": {"key": "AP8Q"}}
    client.create(f"/api/v1/namespaces/{pods.namespace}/secrets", body)
    source = volume(secret={"secretName": "s", "defaultMode": 0o600})
    assert run(pods, "od -An -tx1 /v/key; stat -L -c %a /v/key", source) == " 00 ff 10\n600\n"


def test_an_optional_source_may_be_missing(pods: Pods) -> None:
    source = volume(configMap={"name": "absent", "optional": True})
    assert run(pods, "ls /v", source) == ""


def test_downward_api_files(pods: Pods) -> None:
    items = [
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
    ]
    main = shell("cat /v/name /v/labels", **MOUNT)
    volumes = volume(downwardAPI={"items": items})
    seen = pods.run(main, "pod", labels={"a": "b", "c": "d"}, **volumes)
    assert seen == 'poda="b"\nc="d"'


def check_claim(pods: Pods, client: ServerClient, folder: Path, **source: Any) -> None:
    """A volume of that source, when it is claimed, is the folder."""
    name = pods.namespace
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    size = {"storage": "1Gi"}
    of_volume = spec | {"capacity": size, "persistentVolumeReclaimPolicy": "Retain"} | source
    of_claim = spec | {"resources": {"requests": size}, "volumeName": name}
    client.create("/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": of_volume})
    claims = f"/api/v1/namespaces/{name}/persistentvolumeclaims"
    client.create(claims, {"metadata": {"name": "claim"}, "spec": of_claim})
    volumes = volume(persistentVolumeClaim={"claimName": "claim"})
    run(pods, "echo 1 > /v/a", volumes)
    assert run(pods, "cat /v/a", volumes) == "1\n"
    assert (folder / "a").exists()
    client.delete(f"/api/v1/persistentvolumes/{name}")


def test_a_claim_of_a_host_path_is_a_folder(
    pods: Pods, client: ServerClient, folders: Path
) -> None:
    source, folder = host_folder(folders, pods.namespace)
    check_claim(pods, client, folder, **source)


def test_a_claim_of_nfs_is_a_folder(pods: Pods, client: ServerClient, folders: Path) -> None:
    nfs = {"server": "10.12.201.1", "path": f"/{pods.namespace}"}
    check_claim(pods, client, folders / "nfs" / "10.12.201.1" / pods.namespace, nfs=nfs)


def test_sub_path(pods: Pods) -> None:
    mounts = [
        {"name": "v", "mountPath": "/v"},
        {"name": "v", "mountPath": "/part", "subPath": "a/b"},
    ]
    source = EMPTY
    output = run(pods, "touch /part/file; ls /v/a/b", source, volumeMounts=mounts)
    assert output == "file\n"


def test_sub_path_of_a_config_map_is_one_file(pods: Pods) -> None:
    pods.create_config_map("c", **{"hello.conf": "x=1\n"})
    mounts = [{"name": "v", "mountPath": "/etc/app/hello.conf", "subPath": "hello.conf"}]
    source = volume(configMap={"name": "c"})
    assert run(pods, "cat /etc/app/hello.conf", source, volumeMounts=mounts) == "x=1\n"


def test_a_read_only_mount_refuses_writes(pods: Pods) -> None:
    mounts = [{"name": "v", "mountPath": "/v", "readOnly": True}]
    script = "touch /v/a 2>&1 | grep -o 'Read-only file system'"
    source = EMPTY
    assert run(pods, script, source, volumeMounts=mounts) == "Read-only file system\n"


@networks.needs_owner
def test_any_path_can_be_a_mount_point(pods: Pods) -> None:
    paths = ["/nas", "/home/jobpath", "/mnt/seqdata", "/root", "/data/a/b"]
    existed = [Path(path).exists() for path in paths]
    mounts = [{"name": "v", "mountPath": path, "subPath": f"p{n}"} for n, path in enumerate(paths)]
    script = f"for path in {' '.join(paths)}; do touch $path/a; ls $path; done"
    assert run(pods, script, EMPTY, volumeMounts=mounts) == "a\n" * len(paths)
    assert [Path(path).exists() for path in paths] == existed


@networks.needs_owner
def test_what_a_container_writes_is_its_own(pods: Pods) -> None:
    name, folders = f"written-by-{pods.namespace}", "/ /etc /usr/lib /tmp /root /var/tmp"
    pods.run(f"set -e; for folder in {folders}; do touch $folder/{name}; ls $folder/{name}; done")
    assert not [folder for folder in folders.split() if Path(folder, name).exists()]


def test_a_read_only_root(pods: Pods) -> None:
    script = "touch /a /etc/a; [ ! -e /a ] && touch /v/a"
    context = {"readOnlyRootFilesystem": True}
    run(pods, script, EMPTY, securityContext=context)


def test_a_deleted_pod_leaves_no_folder(pods: Pods, state_folder: Path) -> None:
    source = EMPTY
    run(pods, "touch /v/a", source)
    pod = pods.all()[0]
    uid = pod["metadata"]["uid"]
    # Other pods' folders come and go meanwhile, which os.walk leaves out.
    every = [Path(folder) for folder, _, _ in os.walk(state_folder)]
    (folder,) = [each for each in every if each.parts[-2:] == ("pods", uid)]
    pods.delete_all()
    assert clock.wait_until(lambda: not folder.exists(), patience.SECONDS)
