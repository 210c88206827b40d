"""Where no network can be made for pods, tests run as root of a user namespace if that helps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import network, networks

COMMAND = ["pytest", "-x"]
INSIDE = [*networks.AS_ROOT, sys.executable, "-m", "tests.live.networks", networks.INSIDE]


@pytest.mark.parametrize(
    ("may", "as_root_may", "wrapped"),
    [
        (True, True, COMMAND),
        (False, True, [*INSIDE, *COMMAND]),
        (False, False, COMMAND),
    ],
    ids=["root", "a user", "a user who may make no user namespace"],
)
def test_only_who_needs_it_is_root_of_a_namespace(monkeypatch, may, as_root_may, wrapped):
    monkeypatch.setattr(networks, "may_make_networks", lambda: may)
    monkeypatch.setattr(networks, "may_as_root", lambda: as_root_may)
    assert list(networks.wrap(COMMAND)) == wrapped


def test_temporary_files_are_the_user_s_own(tmp_path: Path) -> None:
    folder = networks.temporary_folder(tmp_path)
    assert networks.temporary_folder(tmp_path) == folder
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not networks.is_machine_root(), reason="only root gives files to others")
def test_a_folder_of_another_user_is_not_taken(tmp_path: Path) -> None:
    os.chown(networks.temporary_folder(tmp_path), 1, 1)
    with pytest.raises(SystemExit, match="set TMPDIR"):
        networks.temporary_folder(tmp_path)


def test_the_command_s_own_network_has_loopback() -> None:
    """As this user is, if a namespace can be made at all."""
    program = (
        "import socket; server = socket.create_server(('127.0.0.1', 0));"
        "socket.create_connection(server.getsockname())\nfrom tests.live import network\n"
        "with network.outside(): print('connected', network.leads_out())"
    )
    command = [*INSIDE, sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    if "unshare" in done.stderr:
        pytest.skip(f"nobody can make a user namespace here: {done.stderr}")
    assert done.stdout == "connected False\n", done.stderr


def test_a_network_with_a_route_leads_out(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(network, "ROUTES", tmp_path / "route")
    network.ROUTES.write_text("Iface\tDestination\neth0\t00000000\n")
    assert network.leads_out()
