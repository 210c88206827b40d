"""Where a container's paths lead: never out of its root, whatever the pod or its image asks for."""

from pathlib import Path

import pytest

from localcluster.node.runtime.rootfs import resolve_in

PATHS = {
    "/data": "data",
    "data": "data",
    "/": "",
    "/../../outside": "outside",
    "/data/../../../outside": "outside",
    "/var/run/secrets": "run/secrets",
    "/up/outside": "outside",
    "/data/../var/run": "run",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with links that lead elsewhere when they are followed from the machine's."""
    root = tmp_path / "root"
    (root / "var").mkdir(parents=True)
    (root / "run").mkdir()
    (root / "var" / "run").symlink_to("/run")
    (root / "up").symlink_to("../../..")
    (root / "loop").symlink_to("loop")
    return root


@pytest.mark.parametrize(("path", "expected"), PATHS.items(), ids=PATHS)
def test_a_path_leads_to_a_place_in_the_root(root, path, expected):
    assert resolve_in(root, path) == root / expected


def test_links_in_a_circle_are_an_error(root):
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        resolve_in(root, "/loop/x")
