"""Whose turn it is where pods share the machine's network."""

from typing import Any, cast

from localcluster.machine.filelock import FileLock
from localcluster.node.pod.turn import Turn


def pod(job: str) -> dict[str, Any]:
    owner = {"kind": "PaddleJob", "name": job, "uid": job, "controller": True}
    metadata = {"namespace": "ns", "name": job, "uid": f"{job}-0", "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": {}}


def test_nobody_waits_for_an_answer_that_another_waits_for(tmp_path, mocker):
    server, free = mocker.Mock(), []
    turn = Turn(tmp_path / "turn", cast(Any, server))

    def try_lock(_path: str) -> dict[str, Any]:
        lock = FileLock(turn.file.with_suffix(".lock"))
        free.append(lock.acquire(wait=False))
        lock.release()
        return {"items": []}

    assert not turn.take(pod("first"))
    server.get.side_effect = try_lock
    assert not turn.take(pod("second"))
    assert free == [True]
