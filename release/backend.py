"""What pip builds in a checkout: `pip install .` installs the wheel of `release/wheel.py`, and
`pip install --editable .` shows the packages of the checkout, as setuptools does it.
"""

from pathlib import Path

from setuptools.build_meta import build_editable, prepare_metadata_for_build_editable

from release.wheel import build

__all__ = ["build_editable", "build_wheel", "prepare_metadata_for_build_editable"]


def build_wheel(folder: str, _settings: object = None, _metadata: object = None) -> str:
    """Write the wheel; returns its file's name."""
    return build(Path(folder)).name
