"""`python -m manifests` writes the generated manifests; `--check` only says which are stale."""

import argparse
import sys
from pathlib import Path

from api.crd import build_crd
from manifests.alerts import build_chart_rules, build_rules
from manifests.chart.files import CHART, render_chart
from manifests.dashboard import render_dashboard
from manifests.documents import render_documents
from manifests.operator import Variant, build_operator, build_rights
from manifests.reference import render_reference
from manifests.text import to_yaml
from manifests.v1beta1 import build_v1beta1_crd

ROOT = Path(__file__).parents[1]


def render() -> dict[str, str]:
    """Every generated file: its path in the checkout, and its text."""
    dashboard = render_dashboard()
    chart = render_chart()
    chart["files/alerts.yaml"] = to_yaml([build_chart_rules()])
    chart["files/dashboard.json"] = dashboard
    return {
        "manifests/monitoring/alerts.yaml": to_yaml([build_rules()]),
        "manifests/monitoring/dashboard.json": dashboard,
        **{f"manifests/{path}": text for path, text in _plain().items()},
        **{f"manifests/kustomize/{path}": text for path, text in _bases().items()},
        **{f"charts/{CHART}/{path}": text for path, text in chart.items()},
        **{f"docs/{page}": text for page, text in render_reference().items()},
        **render_documents(ROOT),
    }


def _plain() -> dict[str, str]:
    old = Variant(has_seccomp_field=False)
    old_everywhere = Variant(all_namespaces=True, has_seccomp_field=False)
    return {
        "v1/crd.yaml": to_yaml([build_crd()]),
        "v1/operator.yaml": to_yaml(build_operator(Variant())),
        "v1/operator-all-namespaces.yaml": to_yaml(build_operator(Variant(all_namespaces=True))),
        "v1beta1/crd.yaml": to_yaml([build_v1beta1_crd()]),
        "v1beta1/operator.yaml": to_yaml(build_operator(old)),
        "v1beta1/operator-all-namespaces.yaml": to_yaml(build_operator(old_everywhere)),
    }


def _bases() -> dict[str, str]:
    everywhere = Variant(all_namespaces=True, is_movable=True)
    return {
        "base/operator.yaml": to_yaml(build_operator(everywhere)),
        "one-namespace/operator.yaml": to_yaml(build_operator(Variant(is_movable=True))),
        "rights/rights.yaml": to_yaml(build_rights()),
    }


def main() -> int:
    """Write the files that are stale. With --check only name them; returns 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m manifests", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail on stale files")
    check = parser.parse_args().check
    stale = {
        ROOT / name: text
        for name, text in render().items()
        if not (ROOT / name).exists() or (ROOT / name).read_text() != text
    }
    for path, text in stale.items():
        sys.stderr.write(f"{'stale' if check else 'written'}: {path.relative_to(ROOT)}\n")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
