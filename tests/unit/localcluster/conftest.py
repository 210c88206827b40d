"""Fixtures of the local cluster's unit tests."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534


@pytest.fixture
def nobodys_folder() -> Iterator[Path]:
    """A folder of a user who is not root, whom the modes of folders stop: the test is this user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # the tests' own is for root alone
        if os.geteuid():
            yield Path(folder)
            return
        try:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        except OSError:
            pytest.skip("this user namespace has no other user")
        try:
            yield Path(folder)
        finally:
            os.seteuid(0)
