"""Flags, their environment variables, and what is refused."""

import operator

import pytest

from api.trainer import ACCELERATORS
from controller.options import parse_options

READ = [
    ("namespace", "team", "namespaces", ("team",)),
    ("kubeconfig", "/k", "kubeconfig", "/k"),
    ("workers", "3", "workers", 3),
    ("metrics-bind-address", "0", "metrics_bind_address", "0"),
    ("metrics-secure", "true", "metrics_secure", True),
    ("metrics-by-namespace", "true", "metrics_by_namespace", True),
    ("health-probe-bind-address", "[::]:9", "health_probe_bind_address", "[::]:9"),
    ("leader-elect", "true", "leader_elect", True),
    ("leader-election-namespace", "x", "leader_election_namespace", "x"),
    ("log-format", "json", "log_format", "json"),
    ("log-level", "debug", "log_level", "debug"),
    ("scheduling", "volcano", "settings.scheduling", "volcano"),
    ("elastic-server", "e:2379", "settings.elastic_server", "e:2379"),
    ("elastic-timeout", "60", "settings.elastic_timeout_seconds", 60),
    ("force-delete-after", "1.5", "settings.force_delete_after_seconds", 1.5),
    ("config-error-after", "2", "settings.config_error_grace_seconds", 2),
    ("give-back-after", "0", "settings.give_back_after_seconds", 0.0),
    ("default-clean-pod-policy", "Never", "settings.default_clean_pod_policy", "Never"),
    ("default-ttl-seconds-after-finished", "60", "settings.default_ttl_seconds", 60),
    ("image-error-after", "3.5", "settings.image_pull_grace_seconds", 3.5),
    ("host-port-range", "100-200", "settings.host_port_range", (100, 200)),
    ("host-port-share", "0.5", "settings.host_port_share", 0.5),
    ("accelerators", "a.b/c*, d.e/f", "settings.accelerators", (*ACCELERATORS, "a.b/c*", "d.e/f")),
]


@pytest.mark.parametrize(("flag", "value", "field", "read"), READ, ids=[row[0] for row in READ])
def test_every_flag_is_also_a_variable(flag, value, field, read):
    field_of = operator.attrgetter(field)
    variable = f"PADDLEJOB_{flag.upper().replace('-', '_')}"
    assert field_of(parse_options([f"--{flag}", value], {})) == read
    assert field_of(parse_options([], {variable: value})) == read


def test_a_namespace_with_an_operator_of_its_own_may_hold_all_ports():
    assert parse_options([], {}).settings.host_port_share == 0.25
    assert parse_options(["--namespace", "a,b"], {}).settings.host_port_share == 0.25
    assert parse_options(["--namespace", "team"], {}).settings.host_port_share == 1
    shared = parse_options(["--namespace", "team", "--host-port-share", "0.1"], {})
    assert shared.settings.host_port_share == 0.1


@pytest.mark.parametrize("arguments", [[], ["--default-clean-pod-policy", ""]])
def test_no_policy_for_pods_is_the_default(arguments):
    assert parse_options(arguments, {}).settings.default_clean_pod_policy is None


@pytest.mark.parametrize(
    ("value", "read"),
    [("", ()), ("a", ("a",)), ("b,a", ("b", "a")), ("a, b", ("a", "b")), ("a,a", ("a",))],
)
def test_namespaces_are_a_list(value, read):
    assert parse_options(["--namespace", value], {}).namespaces == read
    assert parse_options([], {"PADDLEJOB_NAMESPACE": value}).namespaces == read


def test_a_bare_leader_elect_is_true_and_can_be_denied():
    assert parse_options(["--leader-elect"], {}).leader_elect
    denied = parse_options(["--leader-elect=false"], {"PADDLEJOB_LEADER_ELECT": "true"})
    assert not denied.leader_elect


def test_kubectls_own_variable_counts():
    assert parse_options([], {"KUBECONFIG": "/k"}).kubeconfig == "/k"


ENDS = ("a/b", "-a", "A", "a" * 201, "a_b", "a.")
"""No name of a Lease can end so."""
WRONG = {
    "no workers": ["--workers", "0"],
    "half a worker": ["--workers", "x"],
    "too many workers": ["--workers", "100000"],
    "no namespace's name": ["--namespace", "Team A"],
    "an empty name in a list": ["--namespace", "a,,b"],
    "a list of nothing": ["--namespace", ","],
    "a wrong name in a list": ["--namespace", "a,B"],
    "a path": ["--leader-election-namespace", "a/b"],
    "an address": ["--metrics-bind-address", "nowhere"],
    "a format": ["--log-format", "xml"],
    "a level": ["--log-level", "loud"],
    "a scheduler": ["--scheduling", "slurm"],
    "a policy for pods": ["--default-clean-pod-policy", "Sometimes"],
    "a range backwards": ["--host-port-range", "9-1"],
    "a range too narrow": ["--host-port-range", "40000-40018"],
    "a range too high": ["--host-port-range", "1-70000"],
    "no share": ["--host-port-share", "0"],
    "no extended resource": ["--accelerators", "cpu"],
    "more than all": ["--host-port-share", "1.5"],
    "a share of nothing": ["--host-port-share", "nan"],
    "seconds": ["--force-delete-after", "-1"],
    "endless seconds": ["--force-delete-after", "inf"],
    "seconds beyond all dates": ["--image-error-after", "99999999999"],
    "a truth": ["--leader-elect=maybe"],
    "an unknown flag": ["--nonsense"],
    "certificates for nothing": ["--metrics-cert-dir=/tls"],
    "one address for two": ["--metrics-secure", "--metrics-bind-address=:8081"],
    **{f"an id {end[:4]}": [f"--leader-election-id={end}"] for end in ENDS},
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        parse_options(arguments, {})
    assert caught.value.code == 2
    assert arguments[0].partition("=")[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"PADDLEJOB_WORKERS": "many"}, "--workers: PADDLEJOB_WORKERS: 'many'"),
        ({"PADDLEJOB_WORKER": "4"}, "unknown environment variable: PADDLEJOB_WORKER\n"),
    ],
)
def test_a_wrong_variable_and_one_that_no_flag_reads_are_refused(capsys, variables, why):
    with pytest.raises(SystemExit) as caught:
        parse_options([], {"PADDLEJOB_WORKERS": "4"} | variables)
    assert caught.value.code == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "PADDLEJOB_OPERATOR_REVISION",
        "PADDLEJOB_METRICS_SERVICE_HOST",
        "PADDLEJOB_METRICS_SERVICE_PORT",
        "PADDLEJOB_METRICS_SERVICE_PORT_METRICS",
        "PADDLEJOB_METRICS_PORT",
        "PADDLEJOB_METRICS_PORT_8080_TCP",
        "PADDLEJOB_METRICS_PORT_8080_TCP_ADDR",
        "PADDLE_TRAINER_ID",
    ],
)
def test_variables_of_the_image_and_of_services_are_let_through(name):
    assert parse_options([], {name: "tcp://10.0.0.1:8080"}) == parse_options([], {})


@pytest.mark.parametrize("variable", ["5", "many"])
def test_a_flag_wins_over_its_variable_even_a_wrong_one(variable):
    assert parse_options(["--workers", "3"], {"PADDLEJOB_WORKERS": variable}).workers == 3


@pytest.mark.parametrize(
    ("namespace", "name"), [("", "paddlejob-operator-all"), ("team", "paddlejob-operator-team")]
)
def test_the_lease_carries_the_scope(namespace, name):
    assert parse_options(["--namespace", namespace], {}).lease_name == name


def test_a_list_has_one_lease_in_whatever_order():
    def name(*arguments: str) -> str:
        return parse_options(arguments, {}).lease_name

    assert name("--namespace=a,b") == name("--namespace=b,a")
    assert name("--namespace=a,b") not in (name("--namespace=a,c"), name("--namespace=a"))
    assert len(name(f"--namespace={','.join(f'n{i:062}' for i in range(9))}")) <= 63


def test_with_an_id_a_change_of_the_scope_leaves_the_lease():
    names = {
        parse_options([f"--namespace={scope}", "--leader-election-id=sys-x.y"], {}).lease_name
        for scope in ("", "a", "a,b")
    }
    assert names == {"paddlejob-operator-sys-x.y"}


def test_no_server_needs_no_address_of_its_own():
    off = ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    assert parse_options(["--metrics-secure", *off], {}).metrics_secure
