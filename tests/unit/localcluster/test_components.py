"""The command lines of the control plane's components."""

from localcluster.cluster.components import with_further


def test_a_further_flag_stands_in_place_of_the_components_own() -> None:
    """The list of controllers adds up if it is given twice, and one left out stays so."""
    own = ["--controllers=*,-endpointslice-controller", "--use-service-account-credentials=true"]
    assert with_further(own, ["--controllers=*", "--v=2"]) == [
        "--use-service-account-credentials=true",
        "--controllers=*",
        "--v=2",
    ]
