"""The command lines of the control plane's components."""

from localcluster.cluster.components import command_lines, with_further


def test_a_further_flag_stands_in_place_of_the_components_own():
    """The list of controllers adds up if it is given twice, and one left out stays so."""
    own = ["--controllers=*,-endpointslice-controller", "--use-service-account-credentials=true"]
    assert with_further(own, ["--controllers=*", "--v=2"]) == [
        "--use-service-account-credentials=true",
        "--controllers=*",
        "--v=2",
    ]


def test_binaries_of_another_version_get_no_flags_that_only_the_pinned_one_has():
    ports = {"kube-apiserver": 1, "kube-controller-manager": 2, "kube-scheduler": 3}
    for has_gangs in (True, False):
        lines = command_lines(ports, "audit.log", has_gangs=has_gangs)
        for name in ports:
            gates = "--feature-gates=GenericWorkload=true,GangScheduling=true"
            assert (gates in lines[name]) == has_gangs
        served = [flag for flag in lines["kube-apiserver"] if flag.startswith("--runtime-config")]
        assert bool(served) == has_gangs
