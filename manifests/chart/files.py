"""Builds the generated files of the chart."""

import copy
import json
import re

import yaml

from api.constants import API_VERSION, GROUP, KIND, PLURAL
from api.crd import PROTECTION, build_crd
from api.objects import Raw
from manifests.chart.etcd import ETCD_TAG, OBJECTS
from manifests.chart.flags import ELSEWHERE, flag_defaults, flag_rules
from manifests.chart.tree import needed, to_rows, to_schema, to_values
from manifests.chart.values import TAG, VALUES
from manifests.rbac import (
    CLUSTER_RULES,
    EDIT_RULES,
    KUEUE_RULES,
    LEASE_RULES,
    PROGRESS_RULES,
    REVIEW_RULES,
    RULES,
    VIEW_RULES,
    policy_rules,
)
from manifests.text import HEADER, ORIGIN, to_yaml

CHART = "paddlejob-operator"
KUBERNETES = ">=1.25.0-0"
HOME = "https://github.com/OWNER/paddlejob-operator"
"""Until a release names the repository that it comes from."""
TEMPLATE_HEADER = f"{{{{- /* {ORIGIN} */ -}}}}\n"
PLACE = "place"
"""Where a hand-written template adds fields: the key of its name."""
README = """<!-- {header} -->
# paddlejob-operator

The [PaddleJob operator](../../README.md) as a Helm chart.

```bash
helm install paddlejob charts/paddlejob-operator --namespace paddle-system --create-namespace
```

[docs/production.md](../../docs/production.md) says how to install for some namespaces, how to
upgrade, roll back and uninstall.

A wrong or an unknown value is refused. {flags}.

| value | default | meaning |
|---|---|---|
{rows}
"""
FLAGS = "Each flag of the operator is a value below `operator`, except these: " + ", ".join(
    f"`--{flag}` is `{value}`" for flag, value in ELSEWHERE.items()
)


def render_chart() -> dict[str, str]:
    """Path and text of each file."""
    return {
        "Chart.yaml": HEADER + yaml.safe_dump(_about(), sort_keys=False, width=100),
        "values.yaml": HEADER + "\n" + to_values(VALUES).rstrip("\n") + "\n",
        "values.schema.json": json.dumps(_schema(), indent=2) + "\n",
        "README.md": README.format(header=ORIGIN, flags=FLAGS, rows="\n".join(to_rows(VALUES))),
        "templates/crd.yaml": _crd_template(),
        "templates/elastic-etcd.yaml": _etcd_template(),
        "templates/_generated.tpl": _definitions(),
    }


def _about() -> Raw:
    return {
        "apiVersion": "v2",
        "name": CHART,
        "description": "Kubernetes operator for PaddlePaddle distributed training",
        "type": "application",
        "version": TAG,
        "appVersion": TAG,
        "kubeVersion": KUBERNETES,
        "keywords": ["paddlepaddle", "training", "operator"],
        "home": HOME,
        "sources": [HOME],
        "icon": f"{HOME}/raw/v{TAG}/docs/images/icon.svg",
        "maintainers": [{"name": "PaddleJob operator", "url": HOME}],
        "annotations": {
            "artifacthub.io/category": "ai-machine-learning",
            "artifacthub.io/license": "Apache-2.0",
            "artifacthub.io/operator": "true",
            "artifacthub.io/crds": yaml.safe_dump([_crd_line()], sort_keys=False),
        },
    }


def _crd_line() -> Raw:
    """The CRD as Artifact Hub lists it."""
    return {
        "kind": KIND,
        "version": API_VERSION.partition("/")[2],
        "name": f"{PLURAL}.{GROUP}",
        "displayName": KIND,
        "description": "A distributed training: its servers, its workers and their pods.",
    }


def _schema() -> Raw:
    schema = to_schema(VALUES)
    return {"$schema": "http://json-schema.org/draft-07/schema#"} | schema


def _crd_template() -> str:
    """The CRD, with a place for the release's metadata. Raises ValueError if it contains `{{`."""
    bare = build_crd()
    for marks in ("labels", "annotations"):  # the release's own include these
        del bare["metadata"][marks]
    crd = to_yaml([bare]).removeprefix(HEADER)
    if "{{" in crd:
        raise ValueError("the CRD has a `{{` in it, which Helm would take for its own")
    before, metadata, after = crd.partition("metadata:\n")
    added = f'  {{{{- include "{CHART}.crdMetadata" . | nindent 2 }}}}\n'
    whole = before + metadata + added + after
    return f"{TEMPLATE_HEADER}{{{{- if .Values.crds.install }}}}\n{whole}{{{{- end }}}}\n"


def _etcd_template() -> str:
    """The etcd of elastic jobs, in each namespace of `elasticEtcd.namespaces`."""
    objects = copy.deepcopy(OBJECTS)
    for obj in objects:
        obj["metadata"]["namespace"] = "{{ . }}"
        obj["metadata"]["labels"][PLACE] = "etcdLabels"
    template = objects[1]["spec"]["template"]
    template["metadata"]["labels"][PLACE] = "etcdPodLabels"
    template["spec"][PLACE] = "etcdPodSpec"
    (container,) = template["spec"]["containers"]
    container["resources"] = {PLACE: "etcdResources"}
    container["image"] = f'{{{{ include "{CHART}.etcdImage" $ }}}}'
    container[PLACE] = "etcdContainer"
    texts = re.sub(
        rf"\n( *){PLACE}: (\w+)",
        lambda at: f'{{{{- include "{CHART}.{at[2]}" $ | nindent {len(at[1])} }}}}',
        to_yaml(objects).removeprefix(HEADER),
    )
    return (
        f"{TEMPLATE_HEADER}{{{{- range .Values.elasticEtcd.namespaces }}}}\n"
        f"---\n{texts}{{{{- end }}}}\n"
    )


def _definitions() -> str:
    """The named templates: permissions, protection from deletion, and the defaults of flags."""
    tables = {
        "rules": RULES,
        "clusterRules": CLUSTER_RULES,
        "leaseRules": LEASE_RULES,
        "reviewRules": REVIEW_RULES,
        "kueueRules": KUEUE_RULES,
        "progressRules": PROGRESS_RULES,
        "viewRules": VIEW_RULES,
        "editRules": EDIT_RULES,
    }
    named = {name: yaml.safe_dump(policy_rules(table)) for name, table in tables.items()}
    named["protection"] = yaml.safe_dump(PROTECTION)
    named["flagDefaults"] = yaml.safe_dump(flag_defaults(), sort_keys=False, default_style='"')
    named["etcdTag"] = ETCD_TAG
    named["needed"] = " ".join(needed(VALUES))
    named["flagRules"] = yaml.safe_dump(flag_rules())
    parts = [
        f'{{{{- define "{CHART}.{name}" -}}}}\n{text}{{{{- end }}}}\n'
        for name, text in named.items()
    ]
    return TEMPLATE_HEADER + "\n".join(parts)
