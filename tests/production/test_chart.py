"""The chart makes the objects of the plain files, passes flags on, and refuses wrong values."""

import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.crd import PROTECTION
from api.objects import Raw
from controller.options import build_parser, parse_options
from manifests.__main__ import ROOT
from manifests.chart.flags import flag_rules
from manifests.chart.tree import defaults, needed
from manifests.chart.values import VALUES
from manifests.rbac import KUEUE_RULES, PROGRESS_RULES, policy_rules
from tests.live.installers import (
    CHART,
    KUSTOMIZE_FOLDER,
    NAMESPACE,
    RELEASE,
    kustomize,
    parse,
    run_helm,
    template,
)
from tests.memory.world import merge
from tests.production.values import DIGEST, FLAGS, RIGHT, SETS, TEAMS, WRONG

Place = tuple[str, str, str]
PLAIN = ROOT / "deploy" / "v1"
MANAGER = "paddle-controller-manager"
OWN = "-of-paddle-system"
"""What a base of kustomize adds to the names of the operator's roles."""
HELMS = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
}
"""The labels of Helm's own, on objects and in selectors."""


def places(objects: list[Raw]) -> dict[Place, Raw]:
    found = {}
    for obj in objects:
        metadata = obj["metadata"]
        place = (obj["kind"], metadata.get("namespace", ""), metadata["name"])
        assert place not in found, f"{place} is there twice"
        found[place] = obj
    return found


def plain(*files: str) -> dict[Place, Raw]:
    return places([obj for name in files for obj in parse((PLAIN / name).read_text())])


def without_helms_labels(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_helms_labels(v) for k, v in value.items() if k not in HELMS}
    if isinstance(value, list):
        return [without_helms_labels(each) for each in value]
    return value


def only(made: list[Raw], kind: str) -> Raw:
    """The object of a kind that there is one of."""
    (found,) = (obj for obj in made if obj["kind"] == kind)
    return found


def container_of(made: list[Raw]) -> Raw:
    """The operator's."""
    (container,) = only(made, "Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(container)


def options_of(values: Raw, namespace: str = NAMESPACE) -> Any:
    arguments = "\n".join(container_of(template(values, namespace=namespace))["args"])
    for name, value in {"$(POD_IP)": "10.0.0.1", "$(POD_NAMESPACE)": "paddle-system"}.items():
        arguments = arguments.replace(name, value)
    return parse_options(arguments.splitlines(), {})


def test_default_values_make_the_plain_files_object_for_object() -> None:
    wanted = plain("crd.yaml", "operator-all-namespaces.yaml")
    del wanted["Namespace", "", "paddle-system"]  # `helm install --create-namespace` makes it
    made = places(template())
    crd = made["CustomResourceDefinition", "", "paddlejobs.batch.paddlepaddle.org"]["metadata"]
    assert crd["annotations"].pop("helm.sh/resource-policy") == "keep"
    assert crd["labels"].keys() > HELMS
    assert {place: without_helms_labels(obj) for place, obj in made.items()} == wanted


def test_own_namespace_makes_the_plain_file_but_for_its_name_in_arguments() -> None:
    wanted = plain("crd.yaml", "operator.yaml")
    values = {"scope": {"kind": "Own"}, "userRoles": {"aggregate": False}}
    values |= {"metrics": {"secure": False}}
    assert set(places(template(values))) == set(wanted) - {("Namespace", "", "paddle-system")}
    assert options_of(values).namespaces == ("paddle-system",)


@pytest.mark.parametrize(
    ("folder", "file"),
    [("base", "operator-all-namespaces.yaml"), ("one-namespace", "operator.yaml")],
)
def test_bases_of_kustomize_make_the_plain_files(folder: str, file: str) -> None:
    made = places(yaml.safe_load(yaml.dump(kustomize(KUSTOMIZE_FOLDER / folder)).replace(OWN, "")))
    wanted = plain("crd.yaml", file)
    place = ("Deployment", "paddle-system", "paddle-controller-manager")
    deployments = [found.pop(place) for found in (made, wanted)]
    assert made == wanted
    kept, expected = (d["spec"]["template"]["spec"]["containers"][0]["args"] for d in deployments)
    assert [a.replace("$(POD_NAMESPACE)", "paddle-system") for a in kept] == expected


def test_what_holds_all_jobs_outlives_the_application_that_brought_it() -> None:
    """An overlay of a user keeps the marks by which Argo CD and Flux neither prune nor delete."""
    made = kustomize(KUSTOMIZE_FOLDER / "overlays" / "production")
    marks = {o["kind"]: o["metadata"].get("annotations", {}) for o in made}
    for kind in ("CustomResourceDefinition", "Namespace"):
        options = marks[kind]["argocd.argoproj.io/sync-options"].split(",")
        assert {"Prune=false", "Delete=false", "ServerSideApply=true"} <= {*options}
        assert marks[kind]["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
    assert not marks["Deployment"]


@pytest.mark.parametrize("keep", [True, False])
def test_a_release_that_keeps_its_crd_keeps_it_from_gitops_too(keep: bool) -> None:
    made = template({"crds": {"keep": keep, "annotations": {"owner": "platform"}}})
    kept = {"helm.sh/resource-policy", *PROTECTION} if keep else set()
    crd = only(made, "CustomResourceDefinition")
    assert set(crd["metadata"]["annotations"]) == {"owner", *kept}


@pytest.mark.parametrize("folder", ["base", "one-namespace", "overlays/teams"])
def test_with_the_component_for_progress_logs_may_be_read_and_nothing_else_changes(
    tmp_path: Path, folder: str
) -> None:
    root = os.path.relpath(KUSTOMIZE_FOLDER.resolve(), tmp_path.resolve())
    overlay = f"resources: [{root}/{folder}]\ncomponents: [{root}/progress]\n"
    (tmp_path / "kustomization.yaml").write_text(overlay)
    made, wanted = places(kustomize(tmp_path)), places(kustomize(KUSTOMIZE_FOLDER / folder))
    for (kind, _, name), obj in wanted.items():
        if kind == "Deployment":
            obj["spec"]["template"]["spec"]["containers"][0]["args"].append("--progress")
        elif kind in ("Role", "ClusterRole") and name.removesuffix(OWN) == MANAGER:
            obj["rules"] += policy_rules(PROGRESS_RULES)
    assert made == wanted


def test_two_bases_in_two_namespaces_share_no_rights(tmp_path: Path) -> None:
    """Applied one after the other, the second would take the first one's bindings."""
    rights = []
    for namespace in ("first", "second"):
        folder = tmp_path / namespace
        folder.mkdir()
        base = os.path.relpath(KUSTOMIZE_FOLDER.resolve() / "base", folder.resolve())
        overlay = f"namespace: {namespace}\nresources: [{base}]\ncomponents: [{base}/../progress]\n"
        (folder / "kustomization.yaml").write_text(overlay)
        made = [o for o in kustomize(folder) if o["kind"].startswith("ClusterRole")]
        names = {obj["metadata"]["name"] for obj in made}
        for obj in made:
            assert obj["kind"] == "ClusterRole" or obj["roleRef"]["name"] in names
            assert all(each["namespace"] == namespace for each in obj.get("subjects", ()))
        rights.append({(obj["kind"], obj["metadata"]["name"]) for obj in made})
    assert len(rights[0]) == 7
    assert not rights[0] & rights[1]


def test_kustomize_can_move_the_operator(tmp_path: Path) -> None:
    base = os.path.relpath(KUSTOMIZE_FOLDER.resolve() / "one-namespace", tmp_path.resolve())
    overlay = f"namespace: elsewhere\nresources: [{base}]\n"
    (tmp_path / "kustomization.yaml").write_text(overlay)
    assert not [obj for obj in kustomize(tmp_path) if "paddle-system" in str(obj)]


def test_every_flag_reaches_the_operator() -> None:
    options = options_of({"operator": FLAGS})
    settings = options.settings
    assert (options.kubeconfig, options.workers) == ("/etc/kubeconfig", 16)
    assert (options.metrics_bind_address, options.health_probe_bind_address) == (
        "10.0.0.1:9090",
        ":8081",
    )
    assert (options.leader_elect, options.leader_election_namespace) == (True, "team-a")
    assert (options.log_format, options.log_level) == ("json", "debug")
    assert (settings.scheduling, settings.elastic_server) == ("volcano", "etcd.infra:2379")
    assert settings.elastic_timeout_seconds == 999999
    assert settings.force_delete_after_seconds == 1.5
    assert settings.config_error_grace_seconds == 30
    assert settings.image_pull_grace_seconds == 86400
    assert (settings.host_port_range, settings.host_port_share) == ((40000, 50000), 0.5)
    assert settings.accelerators[-1] == "example.com/npu"


def test_ports_follow_the_addresses() -> None:
    found = container_of(template(SETS["every flag"]))["ports"]
    ports = {port["name"]: port["containerPort"] for port in found}
    assert ports == {"metrics": 9090, "health": 8081}


def test_a_server_that_is_off_has_no_port() -> None:
    off = template({"operator": {"metricsBindAddress": "0", "healthProbeBindAddress": "0"}})
    assert not {"ports", "livenessProbe", "readinessProbe"} & set(container_of(off))
    assert not [o for o in off if o["kind"] == "Service"]


def test_metrics_may_be_open_to_all() -> None:
    made = template({"metrics": {"secure": False, "serviceMonitor": {"enabled": True}}})
    assert not [obj for obj in made if "-metrics-" in obj["metadata"]["name"]]
    (endpoint,) = endpoints(made, "ServiceMonitor")
    assert not {"scheme", "tlsConfig", "bearerTokenFile"} & set(endpoint)
    assert not options_of({"metrics": {"secure": False}}).metrics_secure


def test_monitors_say_how_secure_metrics_are_read() -> None:
    (endpoint,) = endpoints(template(SETS["ServiceMonitor"]), "ServiceMonitor")
    assert (endpoint["scheme"], endpoint["tlsConfig"]) == ("https", {"insecureSkipVerify": True})
    assert endpoint["bearerTokenFile"].endswith("/serviceaccount/token")
    (endpoint,) = endpoints(template(SETS["PodMonitor"]), "PodMonitor")
    secret = {"name": "prometheus-token", "key": "token"}
    assert endpoint["authorization"] == {"type": "Bearer", "credentials": secret}
    assert "bearerTokenFile" not in endpoint


def endpoints(made: list[Raw], kind: str) -> list[Raw]:
    spec = only(made, kind)["spec"]
    return list(spec.get("endpoints") or spec["podMetricsEndpoints"])


def test_alerts_and_dashboard_are_the_plain_files() -> None:
    made = {obj["kind"]: obj for obj in template(SETS["monitoring"])}
    rules = yaml.safe_load((ROOT / "deploy" / "monitoring" / "alerts.yaml").read_text())
    links = [r["annotations"].pop("runbook_url") for r in rules["groups"][1]["rules"]]
    spec = made["PrometheusRule"]["spec"]
    linked = [r["annotations"].pop("runbook_url") for r in spec["groups"][1]["rules"]]
    assert spec == rules
    base = "https://docs.example.com/alerts"
    assert linked == [link.replace("docs/alerts.md", base) for link in links]
    dashboard = (ROOT / "deploy" / "monitoring" / "dashboard.json").read_text()
    config_map = made["ConfigMap"]
    assert config_map["data"] == {"paddlejobs.json": dashboard}
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_a_limit_of_an_alert_is_a_value() -> None:
    rule = {"enabled": True, "limits": {"PaddleJobsQueuedTooLong": 604800}}
    made = only(template({"metrics": {"prometheusRule": rule}}), "PrometheusRule")
    queries = {r["alert"]: r["expr"] for r in made["spec"]["groups"][1]["rules"]}
    assert queries["PaddleJobsQueuedTooLong"].endswith(" > 604800")
    assert queries["PaddleJobsPendingTooLong"].endswith(" > 3600")
    assert "> 0.1 * sum" in queries["PaddleJobReconcileErrors"]
    assert queries["PaddleJobsStalled"].endswith(" > 0")


def test_a_certificate_of_a_secret_reaches_the_operator() -> None:
    values = SETS["certificate"]
    assert options_of(values).metrics_cert_dir == "/etc/paddlejob/metrics"
    pod = only(template(values), "Deployment")["spec"]["template"]["spec"]
    assert [volume["secret"]["secretName"] for volume in pod["volumes"]] == ["metrics-tls"]
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == "/etc/paddlejob/metrics"


def test_rights_are_where_the_jobs_are_and_nowhere_else() -> None:
    made = places(template(SETS["list of namespaces"]))
    name = "paddle-controller-manager"
    roles = {place for place in made if place[0] in ("Role", "ClusterRole")}
    users = {("ClusterRole", "", f"{name}-jobs-{what}") for what in ("view", "edit")}
    lease = {("Role", "paddle-system", f"{name}-leader-election")}
    asks = f"{name}-paddle-system-metrics"
    metrics = {("ClusterRole", "", f"{asks}-{what}") for what in ("auth", "reader")}
    assert roles == users | metrics | lease | {("Role", team, name) for team in TEAMS}
    bound = [place for place in made if place[0] == "ClusterRoleBinding"]
    assert bound == [("ClusterRoleBinding", "", f"{asks}-auth")]
    assert options_of(SETS["list of namespaces"]).namespaces == tuple(TEAMS)


def test_a_list_that_grows_has_the_same_lease_and_another_release_another() -> None:
    grown = {"scope": {"kind": "List", "namespaces": [*TEAMS, "team-c"]}}
    lease = options_of(SETS["list of namespaces"]).lease_name
    assert (
        options_of(grown).lease_name == options_of({"scope": {"kind": "Own"}}).lease_name == lease
    )
    assert options_of(grown, namespace="elsewhere").lease_name != lease
    assert lease.startswith("paddlejob-operator-")  # by which the alert knows it


@pytest.mark.parametrize(("elects", "strategy"), [(True, None), (False, "Recreate")])
def test_without_an_election_one_ends_before_the_next_begins(elects: bool, strategy: Any) -> None:
    made = template({"operator": {"leaderElect": elects}})
    assert only(made, "Deployment")["spec"].get("strategy", {}).get("type") == strategy


def test_a_digest_wins_over_a_tag() -> None:
    image = container_of(template(SETS["image"]))["image"]
    assert image.endswith(f"paddlejob-operator@{DIGEST}")


def test_another_namespace_names_the_first_nowhere() -> None:
    made = template(SETS["own namespace"], namespace="elsewhere")
    assert not [obj for obj in made if "paddle-system" in str(obj)]


@pytest.mark.parametrize(("told", "values"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused(told: str, values: Raw) -> None:
    done = run_helm("template", RELEASE, str(CHART), values=values, check=False)
    assert done.returncode
    assert told in done.stderr
    assert done.stdout == ""


PARSER = build_parser({})
EDGES = """0 1 00 01 .25 0.25 00.5 1. 1.0 1.5 -1 +1 1e3 _1 256 257 0000000000008 100 100.5 999999
    1000000 31536000 9999999999 9999999999.5 10000000000 2147483647 2147483648 true FALSE No on a
    a,b a,_b _a_,b a, A_b npu a/b a/b,_c/d a/b/c a,b/c * / :8080 0.0.0.0:8080 [::]:8080 a_b/c:1
    :000080 :70000 : 8080 30000-60999 030000-060999 1-2 5-4 etcd etcd:2379 auto debug DEBUG volcano
    Never never mine.1 -mine $(OURS)"""
"""Texts for flags; `_` is a space, and $(OURS) is what Kubernetes replaces."""


def takes(flag: str, text: str) -> bool:
    """Whether the operator's own parser takes this text for this flag, or what it stands for."""
    try:
        PARSER.parse_args([f"--{flag}={text}"])
    except SystemExit:
        return text == "$(OURS)"
    return True


def test_the_chart_refuses_no_argument_and_no_variable_that_the_operator_takes() -> None:
    texts = ["", *(each.replace("_", " ") for each in EDGES.split())]
    taken = [(flag, text) for flag in flag_rules() for text in texts if takes(flag, text)]
    assert {flag for flag, _ in taken} == set(flag_rules())
    arguments = [f"--{flag}={text}" for flag, text in taken]
    names = [f"PADDLEJOB_{flag.upper().replace('-', '_')}" for flag, _ in taken]
    variables = [{"name": n, "value": text} for n, (_, text) in zip(names, taken, strict=True)]
    container = container_of(template({"extraArgs": arguments, "env": variables}))
    assert container["args"][-len(taken) :] == arguments
    assert container["env"][-len(taken) :] == variables


@pytest.mark.parametrize("words", ["--leader-elect=false", "--leader-elect=No"])
def test_an_election_that_an_argument_turns_off_is_off(words: str) -> None:
    made = template({"extraArgs": [words], "flowSchema": {"enabled": True}})
    assert only(made, "Deployment")["spec"]["strategy"]["type"] == "Recreate"
    kinds = {(o["kind"], o["metadata"]["name"].removeprefix(MANAGER)) for o in made}
    assert not {("Role", "-leader-election"), ("FlowSchema", "-paddle-system-lease")} & kinds


def test_without_a_cluster_a_flow_schema_is_made_whatever_the_version() -> None:
    """It is the one that Helm was built with."""
    made = template({"flowSchema": {"enabled": True}}, "--kube-version=v1.25.0")
    assert only(made, "FlowSchema")


@pytest.mark.parametrize("path", [*needed(VALUES)][::7])
def test_values_of_an_older_chart_are_refused_in_a_sentence(tmp_path: Path, path: str) -> None:
    """As `helm upgrade --reuse-values` takes them in place of the chart's own."""
    chart = tmp_path / CHART.name
    shutil.copytree(CHART, chart)
    old = yaml.safe_load((CHART / "values.yaml").read_text())
    *above, name = path.split(".")
    at = old
    for each in above:
        at = at[each]
    del at[name]
    (chart / "values.yaml").write_text(yaml.safe_dump(old))
    done = run_helm("template", RELEASE, str(chart), check=False)
    assert f"values: {path} is null, or missing" in done.stderr
    assert "--reset-then-reuse-values" in done.stderr


def test_a_list_that_is_null_is_an_empty_one() -> None:
    """As in a file of values where each line below the name is a comment."""
    lists = [name for name, each in defaults(VALUES).items() if isinstance(each, list)]
    nulls: Raw = dict.fromkeys(lists)
    empty: Raw = {name: [] for name in lists}
    made = template({**nulls, "image": {"pullSecrets": None}})
    assert made == template({**empty, "image": {"pullSecrets": []}})


def test_an_upgrade_starts_no_etcd_anew() -> None:
    """It is empty then, and all elastic jobs of its namespace start again."""
    plain_etcd = {"elasticEtcd": {"namespaces": ["team-a"]}}
    first, second = (
        only(template(plain_etcd | more), "StatefulSet")["spec"]
        for more in ({}, {"commonLabels": {"release": "2"}})
    )
    assert first["updateStrategy"]["type"] == "OnDelete"
    assert first == second


@pytest.mark.parametrize("given", ["50%", 1, 2])
def test_a_budget_that_lets_one_of_three_go_is_made(given: Any) -> None:
    budget = {"enabled": True, "minAvailable": given}
    made = only(template({"replicas": 3, "podDisruptionBudget": budget}), "PodDisruptionBudget")
    assert made["spec"]["minAvailable"] == given


def test_the_release_of_a_platform_has_its_names_places_and_secrets() -> None:
    made = template(SETS["a platform's own chart"])
    etcd = only(made, "StatefulSet")
    pod = only(made, "Deployment")["spec"]["template"]
    assert only(made, "Deployment")["metadata"]["name"] == "paddlejob-fleet"
    assert pod["metadata"]["labels"]["app.kubernetes.io/name"] == "paddlejob-operator"
    secrets = [{"name": "registry"}, {"name": "mirror"}]
    assert pod["spec"]["imagePullSecrets"] == secrets
    assert etcd["spec"]["template"]["spec"]["imagePullSecrets"] == [*secrets, {"name": "etcd"}]
    (container,) = etcd["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "r.example.com/quay.io/coreos/etcd:v3.6.8"
    assert etcd["metadata"]["labels"].items() >= {"owner": "platform", "team": "platform"}.items()
    placed = {obj["kind"]: obj["metadata"].get("namespace") for obj in made}
    assert {placed[kind] for kind in ("ServiceMonitor", "PrometheusRule", "ConfigMap")} == {
        "monitoring"
    }
    assert {placed[kind] for kind in ("Deployment", "ServiceAccount")} == {"ml-system"}
    spec = only(made, "ServiceMonitor")["spec"]
    assert spec["namespaceSelector"] == {"matchNames": ["ml-system"]}
    groups = only(made, "PrometheusRule")["spec"]["groups"]
    assert groups[-1]["rules"] == [{"alert": "Mine", "expr": "up == 0", "for": "5m"}]
    for binding in (obj for obj in made if obj["kind"].endswith("RoleBinding")):
        assert [each["namespace"] for each in binding["subjects"]] == ["ml-system"]


@pytest.mark.parametrize("path", RIGHT)
def test_each_value_may_be_changed_and_has_an_effect(path: str) -> None:
    changed: Any = RIGHT[path]["value"]
    for name in reversed(path.split(".")):
        changed = {name: changed}
    given = RIGHT[path].get("with", {})
    assert template(merge(given, changed)) != unchanged(yaml.safe_dump(given))


@cache
def unchanged(values: str) -> list[Raw]:
    """What most changes start from: one run of Helm for all of them."""
    return template(yaml.safe_load(values))


def test_metrics_are_turned_off_on_the_command_line_as_documented() -> None:
    off = ("--set", "operator.metricsBindAddress=0")
    assert "--metrics-bind-address=0" in str(template(None, *off))


def test_without_rights_of_its_own_a_release_makes_no_role() -> None:
    made = template({"rbac": {"create": False}, "kueue": {"enabled": True}})
    left = [o["metadata"]["name"] for o in made if "Role" in o["kind"]]
    assert left == [f"paddle-controller-manager-jobs-{what}" for what in ("view", "edit")]


def test_kueue_brings_its_flag_and_its_rights_and_is_nowhere_without() -> None:
    name = "paddle-controller-manager-kueue"
    made = places(template({"kueue": {"enabled": True}}))
    assert made["ClusterRole", "", name]["rules"] == policy_rules(KUEUE_RULES)
    (subject,) = made["ClusterRoleBinding", "", name]["subjects"]
    assert ("ServiceAccount", subject["namespace"], subject["name"]) in made
    assert options_of({"kueue": {"enabled": True}}).settings.kueue
    assert set(made) - set(places(template({}))) == {
        ("ClusterRole", "", name),
        ("ClusterRoleBinding", "", name),
    }
    assert "kueue" not in str(template({}))


@pytest.mark.parametrize("scope", [{}, {"scope": {"kind": "List", "namespaces": ["a", "b"]}}])
def test_progress_brings_its_flag_and_the_right_to_logs_and_is_nowhere_without(scope: Raw) -> None:
    name = "paddle-controller-manager"

    def rules(values: Raw) -> list[Raw]:
        made = [each for each in template(values | scope) if each["metadata"]["name"] == name]
        return [rule for each in made for rule in each.get("rules", ())]

    (more,) = policy_rules(PROGRESS_RULES)
    with_logs = rules({"progress": {"enabled": True}})
    assert with_logs.count(more) == (2 if scope else 1)
    assert [rule for rule in with_logs if rule != more] == rules({})
    assert "pods/log" not in str(template(scope))
    assert options_of({"progress": {"enabled": True, "reads": 2.5}} | scope).progress_reads == 2.5
    assert not options_of(scope).settings.progress


@pytest.mark.parametrize("release", ["my.paddle", "1st"])
def test_a_release_that_no_service_can_be_named_after_is_refused(release: str) -> None:
    own_names = {"fullnameOverride": ""}
    done = run_helm("template", release, str(CHART), values=own_names, check=False)
    assert "a Service cannot be named after the release" in done.stderr
    run_helm("template", release, str(CHART))


@pytest.mark.parametrize("name", ["closed network", "ServiceMonitor", "PodMonitor", "monitoring"])
def test_names_that_look_like_numbers_stay_text(name: str) -> None:
    """YAML would take them for numbers, and the API server refuse the objects."""
    values = SETS[name] | {"scope": {"kind": "List", "namespaces": ["0123", "56"]}}
    done = run_helm("template", "42", str(CHART), "--namespace=1234", values=values)
    metadata = [obj["metadata"] for obj in parse(done.stdout)]
    assert {m["namespace"] for m in metadata if "namespace" in m} >= {"0123", "56", "1234"}
    texts = [[m.get("namespace", ""), *m.get("labels", {}).values()] for m in metadata]
    assert all(isinstance(text, str) for each in texts for text in each)


def test_other_names_that_look_like_numbers_stay_text_too() -> None:
    name = "1234567"
    metrics = {"certificateSecret": name, "tokenSecret": {"name": name, "key": name}}
    values = {
        "metrics": {**metrics, "serviceMonitor": {"enabled": True}},
        "serviceAccount": {"name": name},
        "priorityClassName": name,
        "flowSchema": {"enabled": True},
    }
    made = str(template(values))
    assert made.count(f"'{name}'") == made.count(name)


def test_chart_passes_lint() -> None:
    run_helm("lint", "--strict", str(CHART))


def test_a_part_of_another_chart_works_too(tmp_path: Path) -> None:
    """Helm then adds `global` to its values."""
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: platform\nversion: 1.0.0\n")
    shutil.copytree(CHART, tmp_path / "charts" / CHART.name)
    values = {"global": {"registry": "x"}, CHART.name: {"replicas": 2}}
    made = parse(run_helm("template", "platform", str(tmp_path), values=values).stdout)
    assert only(made, "Deployment")["spec"]["replicas"] == 2
