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


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(an_error(value("spec.containers[0].name")), id="value"),
        pytest.param(
            an_error(value("spec.containers[0].workingDir", r'Invalid value: "\x01": no')),
            id="escaped-by-go",
        ),
        pytest.param(
            an_error(missing("nothing")),
            id="mount",
        ),
        pytest.param(
            an_error(("FieldValueRequired", "spec.containers[0].command", "")), id="required"
        ),
        pytest.param(
            an_error(value("spec.containers[0].resources.requests", ABOVE.format("2", "cpu", "1"))),
            id="request-above-its-limit",
        ),
        pytest.param(
            an_error(
                value("spec.containers[0].resources.requests[cpu]", 'Invalid value: "2": must')
            ),
            id="key-of-a-map",
        ),
        pytest.param(
            an_error(value("spec.containers[0].ports[0].containerPort", "Invalid value: 0: must")),
            id="number",
        ),
        pytest.param(
            an_error(value("spec.nodeSelector", 'Invalid value: "a b": name part must')), id="key"
        ),
        pytest.param(an_error(value("spec.nodeSelector", SELECTOR.format("a b"))), id="map"),
        pytest.param(
            an_error(value("spec.tolerations[0].operator", TOLERATION.format("gpu"))), id="literal"
        ),
        pytest.param(
            an_error(
                (
                    "FieldValueDuplicate",
                    "spec.containers[0].ports[1].containerPort",
                    'Duplicate value: "80/TCP"',
                )
            ),
            id="duplicate",
        ),
        pytest.param(
            an_error(("FieldValueRequired", "spec.volumes[1]", "Required value: must specify")),
            id="required-within",
        ),
        pytest.param(
            an_error(("FieldValueTooMany", "spec.hostAliases", "Too many: 2: must have at most")),
            id="too-many",
        ),
        pytest.param(
            an_error(("FieldValueForbidden", "spec.tolerations", "Forbidden: may not be set")),
            id="forbidden",
        ),
        pytest.param(
            an_error(value("spec.containers[0].name", "Invalid value: must be set")), id="not-shown"
        ),
        pytest.param(
            an_error(
                message='Pod in version "v1" cannot be handled as a Pod: no quantity', code=400
            ),
            id="quantity",
        ),
    ],
)
def test_what_was_sent_wrong_stays_wrong(error: Invalid) -> None:
    assert is_malformed(error, BODY)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(an_error(value("spec.containers[1].name")), id="container-of-a-webhook"),
        pytest.param(an_error(value("spec.tolerations[0].key")), id="toleration-of-a-webhook"),
        pytest.param(an_error(value("spec.runtimeClassName")), id="field-of-a-webhook"),
        pytest.param(
            an_error(value("spec.containers[0].name"), value("spec.volumes[0].name")),
            id="one-of-two",
        ),
        pytest.param(
            an_error(
                value("spec.containers[0].resources.requests", ABOVE.format("1Gi", "memory", "1Mi"))
            ),
            id="limit-of-a-limit-range",
        ),
        pytest.param(
            an_error(value("spec.containers[0].image", 'Invalid value: " x/train:1": must not')),
            id="value-of-a-webhook",
        ),
        pytest.param(
            an_error(value("spec.containers[0].ports[0].containerPort", "Invalid value: 70000: x")),
            id="number-of-a-webhook",
        ),
        pytest.param(an_error(missing("other")), id="mount-of-a-webhook"),
        pytest.param(
            an_error(
                value("spec.containers[0].name"),
                message='admission webhook "x" denied the request: Pod "a" is invalid: spec',
            ),
            id="webhook",
        ),
        pytest.param(
            an_error(
                ("", "", "no"),
                message="pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no",
            ),
            id="policy",
        ),
        pytest.param(an_error(), id="no-causes"),
        pytest.param(an_error(code=400, message="bad request"), id="bad-request"),
    ],
)
def test_what_others_may_mend_is_no_fault_of_the_child(error: Any) -> None:
    assert not is_malformed(error, BODY)
