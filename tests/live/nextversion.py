"""The next version: a chart whose CRD has a field more, and other code that makes pods."""

import shutil
from pathlib import Path

import yaml

from tests.live.installers import CHART, CHECKOUT

TAG = "next"
FIELD = "fieldOfTheNextVersion"
LABEL = "example.com/made-by"
PACKAGES = ("api", "kube", "metrics", "reconcile", "controller")


def write_images(folder: Path) -> Path:
    """An image table in which the next version's tag stands for changed code."""
    code = folder / "code"
    for package in PACKAGES:
        shutil.copytree(CHECKOUT / package, code / package)
    replace(
        code / "reconcile" / "objects" / "templates.py",
        "        **child_labels(view.job, view.attempt),\n",
        f'        **child_labels(view.job, view.attempt),\n        "{LABEL}": "{TAG}",\n',
    )
    image = {
        "folders": {"/workspace": str(code)},
        "command": ["python", "-m", "controller"],
        "environment": "operator",
    }
    table = folder / "images.yaml"
    table.write_text(yaml.safe_dump({"images": {f"paddlejob-operator:{TAG}": image}}))
    return table


def write_chart(folder: Path) -> Path:
    chart = folder / "chart"
    shutil.copytree(CHART, chart)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    text = yaml.safe_dump(about | {"version": "99.0.0", "appVersion": TAG})
    (chart / "Chart.yaml").write_text(text)
    field = f"                {FIELD}:\n                  type: string\n"
    known = "                withGloo:\n"
    replace(chart / "templates" / "crd.yaml", known, field + known)
    return chart


def replace(file: Path, old: str, new: str) -> None:
    """Change the one place in a file where this stands."""
    text = file.read_text()
    assert text.count(old) == 1, f"{file} has {text.count(old)} times {old!r}"
    file.write_text(text.replace(old, new))
