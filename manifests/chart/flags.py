"""The operator's flags as values of the chart. Names, descriptions and most defaults come
from the command line; types, and the defaults that differ in a pod, from this module.

`make generate` fails if a flag has no type here, so none is forgotten.
"""

import re
from typing import Any

from api.constants import CleanPodPolicy
from api.objects import Raw
from controller.logs import FORMATS, LEVELS
from controller.options import (
    ENVIRONMENT_PREFIX,
    MAX_READS,
    MAX_WORKERS,
    build_parser,
    known_variables,
)
from manifests.chart.tree import Value
from manifests.chart.types import NAMESPACE_PATTERN
from manifests.operator import HEALTH_ADDRESS, METRICS_ADDRESS

ELSEWHERE = {
    "namespace": "scope",
    "kueue": "kueue.enabled",
    "progress": "progress.enabled",
    "progress-reads": "progress.reads",
    "metrics-secure": "metrics.secure",
    "metrics-cert-dir": "metrics.certificateSecret",
}
"""Flags that have no value below `operator`, each with the name of the value that sets it. Such a
value does more than set the flag.
"""
_SECONDS: Raw = {"type": "number", "minimum": 0, "exclusiveMaximum": 10**10}
_ADDRESS: Raw = {
    # `--set` turns 0 into a number.
    "anyOf": [{"const": 0}, {"type": "string", "pattern": "^(0|[^\\s/]*:[0-9]{1,5})$"}]
}
_TYPES: dict[str, Raw] = {
    "kubeconfig": {"type": "string"},
    "workers": {"type": "integer", "minimum": 1, "maximum": MAX_WORKERS},
    "metrics-bind-address": _ADDRESS,
    "metrics-by-namespace": {"type": "boolean"},
    "health-probe-bind-address": _ADDRESS,
    "leader-elect": {"type": "boolean"},
    "leader-election-namespace": {"type": "string", "pattern": f"{NAMESPACE_PATTERN}|^$"},
    "leader-election-id": {
        "type": "string",
        "pattern": "^([a-z0-9]([-.a-z0-9]{0,198}[a-z0-9])?)?$",
    },
    "log-format": {"enum": list(FORMATS)},
    "log-level": {"enum": list(LEVELS)},
    "scheduling": {"enum": ["none", "volcano", "kubernetes"]},
    "elastic-server": {"type": "string", "pattern": "^([^\\s/]+:[0-9]{1,5})?$"},
    "elastic-timeout": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10**10},
    "force-delete-after": _SECONDS,
    "config-error-after": _SECONDS,
    "image-error-after": _SECONDS,
    "give-back-after": _SECONDS,
    "default-clean-pod-policy": {"enum": ["", *CleanPodPolicy]},
    "default-ttl-seconds-after-finished": {
        "anyOf": [{"const": ""}, {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}]
    },
    "host-port-range": {"type": "string", "pattern": "^[0-9]{1,5}-[0-9]{1,5}$"},
    "accelerators": {"type": "string", "pattern": "^([^,]*/[^,]*(,[^,]*/[^,]*)*)?$"},
    "host-port-share": {
        "anyOf": [{"const": ""}, {"type": "number", "exclusiveMinimum": 0, "maximum": 1}]
    },
}
_NAME = rf"\s*{NAMESPACE_PATTERN.strip('^$')}\s*"
_TYPES_ELSEWHERE: dict[str, Raw] = {
    "namespace": {"pattern": f"^({_NAME}(,{_NAME})*)?$"},
    "kueue": {"type": "boolean"},
    "progress": {"type": "boolean"},
    "progress-reads": {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_READS},
    "metrics-secure": {"type": "boolean"},
    "metrics-cert-dir": {"type": "string"},
}
_AS_TEXT: dict[str, Raw] = {
    "metrics-bind-address": {"pattern": ":[0-9]+$|^0$"},
    "health-probe-bind-address": {"pattern": ":[0-9]+$|^0$"},
    "elastic-server": {"pattern": ""},
    "elastic-timeout": {"pattern": "^0*[1-9][0-9]*$"},
    "host-port-range": {"pattern": "^[0-9]+-[0-9]+$"},
    "host-port-share": {
        "pattern": "^([01]|[01]?[.][0-9]+)?$",
        "exclusiveMinimum": 0,
        "maximum": 1,
    },
}
"""The rules of texts in `extraArgs` and `env`, where the operator takes more than the chart's value
can be."""
_IN_A_POD: dict[str, Any] = {
    "leader-elect": True,
    "metrics-bind-address": METRICS_ADDRESS,
    "health-probe-bind-address": HEALTH_ADDRESS,
}
"""Defaults of the chart that differ from those of the flags."""

_ACTIONS = [each for each in build_parser({})._actions if each.dest not in ("help", "version")]
_NAMES = "|".join(each.option_strings[-1].removeprefix("--") for each in _ACTIONS)
_SWITCHES = "|".join(each.option_strings[-1].removeprefix("--") for each in _ACTIONS if each.nargs)
FLAG_ARGUMENT = f"^--(({_SWITCHES})|({_NAMES})=.*)$"
"""The pattern of an argument in `extraArgs`: any flag of the operator, with a value unless it is a
switch."""
VARIABLE_NAME: Raw = {
    "pattern": "^[-._a-zA-Z][-._a-zA-Z0-9]*$",
    "anyOf": [
        {"not": {"pattern": f"^{ENVIRONMENT_PREFIX}"}},
        {"enum": sorted(known_variables())},
    ],
}
"""The schema of a variable's name. The operator refuses to start with an unknown variable that
begins with its prefix."""


_PATTERNS = {
    "string": "",
    "boolean": "(?i)^(true|1|yes|false|0|no)$",
    "integer": "^[0-9]+$",
    "number": "^[0-9]{1,10}([.][0-9]+)?$",
}
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum")


def flag_defaults() -> dict[str, str]:
    """The program's own defaults, as text, by flag; without those of ELSEWHERE."""
    return {
        action.option_strings[0].removeprefix("--"): str(action.default)
        for action in build_parser({})._actions
        if action.dest not in ("help", "version")
        and action.option_strings[0].removeprefix("--") not in ELSEWHERE
    }


def flag_rules() -> dict[str, Raw]:
    """For each flag, what its value must match as text, and its bounds if it is a number."""
    schemas = (_TYPES | _TYPES_ELSEWHERE).items()
    return {name: _text_rule(schema) for name, schema in schemas} | _AS_TEXT


def _text_rule(schema: Raw) -> Raw:
    if "anyOf" in schema:
        first, second = map(_text_rule, schema["anyOf"])
        return second | {"pattern": f"{first['pattern']}|{second['pattern']}"}
    words = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if words:
        return {"pattern": "|".join(f"^{re.escape(str(word))}$" for word in words)}
    bounds = {key: schema[key] for key in _BOUNDS if key in schema}
    return {"pattern": schema.get("pattern") or _PATTERNS[schema["type"]], **bounds}


def flag_values() -> list[Value]:
    """A value for each flag that is not in ELSEWHERE, in the order of the command line's help."""
    texts = {
        action.option_strings[0].removeprefix("--"): str(action.help).partition(" [")[0]
        for action in build_parser({})._actions
    }
    return [
        Value(
            to_camel_case(name),
            _IN_A_POD.get(name, _read(default, _TYPES[name])),
            _TYPES[name],
            f"--{name}: {texts[name]}",
        )
        for name, default in flag_defaults().items()
    ]


def to_camel_case(flag: str) -> str:
    """`log-level` as `logLevel`; Helm's kebabcase turns it back."""
    first, *rest = flag.split("-")
    return first + "".join(word.capitalize() for word in rest)


def _read(default: str, schema: Raw) -> Any:
    if schema.get("type") == "boolean":
        return default == "true"
    return int(default) if schema.get("type") in ("integer", "number") else default
