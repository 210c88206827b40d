"""Flags, their environment variables, and what is refused."""

import pytest

from controller.options import parse_options


def test_defaults_need_nothing():
    options = parse_options([], {})
    assert options.namespaces == ()
    assert options.workers == 8
    assert not options.leader_elect
    assert options.settings.scheduling == "none"
    assert options.settings.host_port_range == (30000, 60999)


@pytest.mark.parametrize(
    ("flag", "variable", "value", "read"),
    [
        ("--namespace", "PADDLEJOB_NAMESPACE", "team", lambda o: o.namespaces == ("team",)),
        ("--kubeconfig", "PADDLEJOB_KUBECONFIG", "/k", lambda o: o.kubeconfig == "/k"),
        ("--workers", "PADDLEJOB_WORKERS", "3", lambda o: o.workers == 3),
        (
            "--metrics-bind-address",
            "PADDLEJOB_METRICS_BIND_ADDRESS",
            "0",
            lambda o: o.metrics_bind_address == "0",
        ),
        ("--metrics-secure", "PADDLEJOB_METRICS_SECURE", "true", lambda o: o.metrics_secure),
        (
            "--health-probe-bind-address",
            "PADDLEJOB_HEALTH_PROBE_BIND_ADDRESS",
            "[::]:9",
            lambda o: o.health_probe_bind_address == "[::]:9",
        ),
        ("--leader-elect", "PADDLEJOB_LEADER_ELECT", "true", lambda o: o.leader_elect),
        (
            "--leader-election-namespace",
            "PADDLEJOB_LEADER_ELECTION_NAMESPACE",
            "x",
            lambda o: o.leader_election_namespace == "x",
        ),
        ("--log-format", "PADDLEJOB_LOG_FORMAT", "json", lambda o: o.log_format == "json"),
        ("--log-level", "PADDLEJOB_LOG_LEVEL", "debug", lambda o: o.log_level == "debug"),
        (
            "--scheduling",
            "PADDLEJOB_SCHEDULING",
            "volcano",
            lambda o: o.settings.scheduling == "volcano",
        ),
        (
            "--elastic-server",
            "PADDLEJOB_ELASTIC_SERVER",
            "e:2379",
            lambda o: o.settings.elastic_server == "e:2379",
        ),
        (
            "--elastic-timeout",
            "PADDLEJOB_ELASTIC_TIMEOUT",
            "60",
            lambda o: o.settings.elastic_timeout_seconds == 60,
        ),
        (
            "--force-delete-after",
            "PADDLEJOB_FORCE_DELETE_AFTER",
            "1.5",
            lambda o: o.settings.force_delete_after_seconds == 1.5,
        ),
        (
            "--config-error-after",
            "PADDLEJOB_CONFIG_ERROR_AFTER",
            "2",
            lambda o: o.settings.config_error_grace_seconds == 2,
        ),
        (
            "--image-error-after",
            "PADDLEJOB_IMAGE_ERROR_AFTER",
            "3.5",
            lambda o: o.settings.image_pull_grace_seconds == 3.5,
        ),
        (
            "--host-port-range",
            "PADDLEJOB_HOST_PORT_RANGE",
            "100-200",
            lambda o: o.settings.host_port_range == (100, 200),
        ),
        (
            "--host-port-share",
            "PADDLEJOB_HOST_PORT_SHARE",
            "0.5",
            lambda o: o.settings.host_port_share == 0.5,
        ),
    ],
)
def test_every_flag_is_also_a_variable(flag, variable, value, read):
    assert read(parse_options([flag, value], {}))
    assert read(parse_options([], {variable: value}))


def test_a_namespace_with_an_operator_of_its_own_may_hold_all_ports():
    assert parse_options([], {}).settings.host_port_share == 0.25
    assert parse_options(["--namespace", "team"], {}).settings.host_port_share == 1
    shared = parse_options(["--namespace", "team", "--host-port-share", "0.1"], {})
    assert shared.settings.host_port_share == 0.1


@pytest.mark.parametrize(
    ("value", "read"),
    [("", ()), ("a", ("a",)), ("b,a", ("b", "a")), ("a, b", ("a", "b")), ("a,a", ("a",))],
)
def test_namespaces_are_a_list(value, read):
    assert parse_options(["--namespace", value], {}).namespaces == read
    assert parse_options([], {"PADDLEJOB_NAMESPACE": value}).namespaces == read


def test_namespaces_that_share_the_ports_have_a_quarter_each():
    assert parse_options(["--namespace", "a,b"], {}).settings.host_port_share == 0.25


def test_a_flag_wins_over_its_variable():
    assert parse_options(["--workers", "3"], {"PADDLEJOB_WORKERS": "5"}).workers == 3


def test_a_bare_leader_elect_is_true_and_can_be_denied():
    assert parse_options(["--leader-elect"], {}).leader_elect
    denied = parse_options(["--leader-elect=false"], {"PADDLEJOB_LEADER_ELECT": "true"})
    assert not denied.leader_elect


def test_kubectls_own_variable_counts():
    assert parse_options([], {"KUBECONFIG": "/k"}).kubeconfig == "/k"


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
    "a range backwards": ["--host-port-range", "9-1"],
    "a range too narrow": ["--host-port-range", "40000-40018"],
    "a range too high": ["--host-port-range", "1-70000"],
    "no share": ["--host-port-share", "0"],
    "more than all": ["--host-port-share", "1.5"],
    "a share of nothing": ["--host-port-share", "nan"],
    "seconds": ["--force-delete-after", "-1"],
    "endless seconds": ["--force-delete-after", "inf"],
    "seconds beyond all dates": ["--image-error-after", "99999999999"],
    "a truth": ["--leader-elect=maybe"],
    "an unknown flag": ["--nonsense"],
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        parse_options(arguments, {})
    assert caught.value.code == 2
    assert arguments[0].partition("=")[0] in capsys.readouterr().err


def test_a_wrong_variable_is_refused_too(capsys):
    with pytest.raises(SystemExit):
        parse_options([], {"PADDLEJOB_WORKERS": "many"})
    assert "--workers: PADDLEJOB_WORKERS: 'many'" in capsys.readouterr().err


def test_a_wrong_variable_is_not_asked_where_its_flag_is_given():
    assert parse_options(["--workers", "3"], {"PADDLEJOB_WORKERS": "many"}).workers == 3


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


@pytest.mark.parametrize("end", ["a/b", "-a", "A", "a" * 201, "a_b", "a."])
def test_an_id_that_no_name_can_end_in_is_refused(end, capsys):
    with pytest.raises(SystemExit):
        parse_options([f"--leader-election-id={end}"], {})
    assert "the name of a Lease" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--metrics-cert-dir=/tls"], "--metrics-cert-dir is for --metrics-secure"),
        (["--metrics-secure", "--metrics-bind-address=:8081"], "an address of its own"),
    ],
)
def test_flags_that_do_not_fit_together_are_refused(flags, told, capsys):
    with pytest.raises(SystemExit):
        parse_options(flags, {})
    assert told in capsys.readouterr().err


def test_no_server_needs_no_address_of_its_own():
    off = ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    assert parse_options(["--metrics-secure", *off], {}).metrics_secure
