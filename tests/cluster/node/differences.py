"""Where the process node is not as a kubelet with containerd is, and why it is left so.

By the name of a test, or of a test with its parameter. All other tests of this folder hold on both.
"""

OWN = "the image table is the process node's own"
FIRST = "a container's processes have no PID namespace of their own, for the machine may allow none"
KEEPS = "a kubelet has kept to the first for minutes"
ALONE = "the tests' real node is alone"

DIFFERENCES = {
    "test_how_a_container_ended_is_told[SIGKILL is no OOM]": FIRST,
    "test_how_a_container_ended_is_told[SIGTERM]": FIRST,
    "test_how_a_container_ended_is_told[segmentation fault]": FIRST,
    "test_an_image_that_appears_is_pulled": OWN,
    "test_an_image_brings_its_program": OWN,
    "test_an_image_with_paddlepaddle_3_has_it_and_an_event_says_what_stands_for_it": OWN,
    "test_pip_in_a_pod_changes_nothing_that_other_pods_use": "containers share an environment",
    "test_sigkill_comes_after_the_grace_period[of a second deletion]": KEEPS,
    "test_no_container_outlives_the_node": "a kubelet's containers do: containerd has them",
    "test_a_line_longer_than_a_record_is_one[tail]": "a kubelet counts records of 16 KB",
    "test_much_output_is_kept_whole": "containerd may lose the end of it on a busy machine",
    "test_what_the_node_cannot_do_is_said_in_a_line": "it serves no attach, which a kubelet does",
    "test_a_command_ends_when_its_client_has_gone": "it lists the processes of the process node",
    "test_what_is_not_there_is_told": "no server of names and no route of a network's",
    "test_nodes_have_different_addresses": ALONE,
    "test_node_tells_its_address_port_and_labels": "its address and labels are the tests'",
    "test_node_tells_its_capacity": "it keeps nothing back for itself, and has GPUs to count",
    "test_a_deleted_node_registers_again": "a kubelet registers at its start alone",
    "test_the_scheduler_counts_gpus": ALONE,
    "test_a_claim_of_nfs_is_a_folder": "an NFS server is a folder: mounting one takes root",
}


def reason(name: str) -> str:
    """Why a test holds on the process node alone; empty where it holds on both."""
    return DIFFERENCES.get(name) or DIFFERENCES.get(name.partition("[")[0], "")
