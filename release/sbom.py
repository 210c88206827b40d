"""`python -m release.sbom FILE`: what is in the operator's image besides Python, as CycloneDX."""

import json
import re
import sys
from pathlib import Path

from api.constants import RELEASE
from api.objects import Raw
from release.build import ROOT

LOCK = ROOT / "requirements" / "operator.txt"
PINNED = re.compile(r"^([\w.-]+)==(\S+)((?:.*\\\n +--hash=sha256:\w+)+)", re.MULTILINE)
"""Name, version and hashes of a package in the lock."""


def describe() -> str:
    """The document. Raises ValueError on a line of the lock that has no hash."""
    text = LOCK.read_text()
    found = PINNED.findall(text)
    if len(found) != text.count("=="):
        raise ValueError(f"{LOCK} has a package without a hash")
    operator = {"type": "application", "name": "paddlejob-operator", "version": RELEASE}
    return json.dumps(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"component": operator},
            "components": [_component(*each) for each in found],
        },
        indent=2,
    )


def _component(name: str, version: str, hashes: str) -> Raw:
    """A package, with the hash of each file of which pip takes one."""
    digests = re.findall(r"sha256:(\w+)", hashes)
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name.lower()}@{version}",
        "hashes": [{"alg": "SHA-256", "content": each} for each in digests],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(describe())
