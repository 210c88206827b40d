"""What docs/own-program.md has its readers save and run."""

import re
import tempfile
from pathlib import Path

from localcluster.provision.environments import ensure_packages

PAGE = (Path(__file__).parents[2] / "docs" / "own-program.md").read_text()
HERE = PAGE.partition("## In a cluster")[0]
FILE = re.compile(r"as `([\w.-]+)`[^`]*\n\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)
REQUIREMENTS = "requirements.txt"


def saved_files() -> dict[str, str]:
    """Name and text of each file."""
    return dict(FILE.findall(PAGE))


def install_packages() -> None:
    """Those of the page, while there is a network: a test's own may lead nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, REQUIREMENTS)
        file.write_text(saved_files()[REQUIREMENTS])
        ensure_packages("examples", file)
