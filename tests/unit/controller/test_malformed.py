"""What the API server's validation says of a child, and whether waiting can mend it."""

from typing import Any

import pytest

from controller.work.malformed import is_malformed
from kube.errors import Invalid

CONTAINER = {
    "name": "Paddle",
    "image": "train:1",
    "resources": {"requests": {"memory": "1Gi", "cpu": "2000m"}, "limits": {"cpu": "1.0"}},
    "volumeMounts": [
        {"name": "nothing", "mountPath": "/x"},
        {"name": "data", "mountPath": "/data:x"},
    ],
    "workingDir": "1E99999999999999999999",
    "ports": [{"containerPort": 0}, {"containerPort": 80}],
}
SPEC = {
    "containers": [CONTAINER],
    "nodeSelector": {"a b": "c"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "value": "v"}],
    "volumes": [{"name": "data"}, {"name": "none"}],
    "hostAliases": [{}, {}],
}
BODY = {"kind": "Pod", "metadata": {"name": "train-worker-0"}, "spec": SPEC}
ABOVE = 'Invalid value: "{}": must be less than or equal to {} limit of {}'
TOLERATION = (
    'Invalid value: core.Toleration{{Key:"{}", Operator:"Exists", Value:"v", Effect:"", '
    "TolerationSeconds:(*int64)(nil)}}: value must be empty when `operator` is 'Exists'"
)
SELECTOR = 'Invalid value: {{"{}":"c"}}: a qualified name must consist of alphanumeric characters'


def an_error(*causes: tuple[str, str, str], message: str = "", code: int = 422) -> Invalid:
    """An answer with these causes: reason, field, message."""
    told = [{"reason": reason, "field": field, "message": text} for reason, field, text in causes]
    message = message or 'Pod "train-worker-0" is invalid: spec: wrong'
    return Invalid(message, code=code, reason="Invalid", details={"causes": told})


def value(field: str, text: str = 'Invalid value: "Paddle": a DNS-1123') -> tuple[str, str, str]:
    """A cause about a field with a wrong value."""
    return ("FieldValueInvalid", field, text)


def missing(name: str, index: int = 0) -> tuple[str, str, str]:
    """A cause about a mount of a volume that is not there."""
    field = f"spec.containers[0].volumeMounts[{index}].name"
    return ("FieldValueNotFound", field, f'Not found: "{name}"')


CONTAINERS = "spec.containers[0]"
REQUESTS = f"{CONTAINERS}.resources.requests"
PORT = "ports[{}].containerPort"
WRONG = {
    "value": value(f"{CONTAINERS}.name"),
    "escaped-by-go": value(f"{CONTAINERS}.workingDir", r'Invalid value: "\x01": no'),
    "mount": missing("nothing"),
    "required": ("FieldValueRequired", f"{CONTAINERS}.command", ""),
    "request-above-its-limit": value(REQUESTS, ABOVE.format("2", "cpu", "1")),
    "key-of-a-map": value(f"{REQUESTS}[cpu]", 'Invalid value: "2": must'),
    "number": value(f"{CONTAINERS}.{PORT.format(0)}", "Invalid value: 0: must"),
    "key": value("spec.nodeSelector", 'Invalid value: "a b": name part must'),
    "map": value("spec.nodeSelector", SELECTOR.format("a b")),
    "literal": value("spec.tolerations[0].operator", TOLERATION.format("gpu")),
    "duplicate": (
        *("FieldValueDuplicate", f"{CONTAINERS}.{PORT.format(1)}"),
        'Duplicate value: "80/TCP"',
    ),
    "required-within": ("FieldValueRequired", "spec.volumes[1]", "Required value: must specify"),
    "too-many": ("FieldValueTooMany", "spec.hostAliases", "Too many: 2: must have at most"),
    "forbidden": ("FieldValueForbidden", "spec.tolerations", "Forbidden: may not be set"),
    "not-shown": value(f"{CONTAINERS}.name", "Invalid value: must be set"),
}
NO_QUANTITY = 'Pod in version "v1" cannot be handled as a Pod: no quantity'


@pytest.mark.parametrize(
    "error",
    [*map(an_error, WRONG.values()), an_error(message=NO_QUANTITY, code=400)],
    ids=[*WRONG, "quantity"],
)
def test_what_was_sent_wrong_stays_wrong(error: Invalid) -> None:
    assert is_malformed(error, BODY)


DENIED = 'admission webhook "x" denied the request: Pod "a" is invalid: spec'
POLICY = "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"
OF_OTHERS = {
    "container-of-a-webhook": an_error(value("spec.containers[1].name")),
    "toleration-of-a-webhook": an_error(value("spec.tolerations[0].key")),
    "field-of-a-webhook": an_error(value("spec.runtimeClassName")),
    "one-of-two": an_error(value(f"{CONTAINERS}.name"), value("spec.volumes[0].name")),
    "limit-of-a-limit-range": an_error(value(REQUESTS, ABOVE.format("1Gi", "memory", "1Mi"))),
    "value-of-a-webhook": an_error(
        value(f"{CONTAINERS}.image", 'Invalid value: " x/train:1": must not')
    ),
    "number-of-a-webhook": an_error(
        value(f"{CONTAINERS}.{PORT.format(0)}", "Invalid value: 70000: x")
    ),
    "mount-of-a-webhook": an_error(missing("other")),
    "webhook": an_error(value(f"{CONTAINERS}.name"), message=DENIED),
    "policy": an_error(("", "", "no"), message=POLICY),
    "no-causes": an_error(),
    "bad-request": an_error(code=400, message="bad request"),
}


@pytest.mark.parametrize("error", OF_OTHERS.values(), ids=OF_OTHERS)
def test_what_others_may_mend_is_no_fault_of_the_child(error: Any) -> None:
    assert not is_malformed(error, BODY)
