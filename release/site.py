"""`python -m release.site FOLDER`: the sources from which zensical makes a site, for `make site`.

The README becomes the first page. Links to files outside of docs/ lead to the repository that
REPOSITORY names, such as https://github.com/you/your-fork; without it, only their text stays.
"""

import os
import posixpath
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFIG = Path(__file__).with_name("zensical.toml")
LINK = re.compile(r"\[([^][]*)\]\((?![a-z]+:|#)([^)#\s]+)([^)\s]*)\)")
"""Text, file and anchor of a link to a file."""


def write_sources(folder: Path, repository: str) -> None:
    """Fill a folder with the configuration and the pages."""
    pages = folder / "docs"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    for page in sorted(pages.glob("*.md")):
        page.write_text(_rewrite(page.read_text(), "docs", repository))
    readme = (ROOT / "README.md").read_text()
    (pages / "index.md").write_text(_rewrite(readme, "", repository))
    shutil.copy(CONFIG, folder)


def _rewrite(text: str, where: str, repository: str) -> str:
    """The page, with links relative to docs/ instead of to the repository's folder `where`."""

    def lead(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(where, link[2]))
        if path == "README.md":
            return f"[{link[1]}](index.md{link[3]})"
        if path.startswith("docs/"):
            return f"[{link[1]}]({path.removeprefix('docs/')}{link[3]})"
        return f"[{link[1]}]({repository}/blob/main/{path}{link[3]})" if repository else link[1]

    return LINK.sub(lead, text)


if __name__ == "__main__":
    write_sources(Path(sys.argv[1]), os.environ.get("REPOSITORY", "").rstrip("/"))
