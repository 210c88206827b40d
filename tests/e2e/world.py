"""Whether a real node can be had on this machine, and the namespaces in which it runs."""

import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from localcluster.machine.project import PROJECT
from localcluster.provision.environments import cache_folder
from tests.live.debian import missing

NAMESPACES = ("--mount", "--net", "--uts", "--pid")
MARK = "PADDLEJOB_E2E"
"""Set in the environment of a process that is in the namespaces."""
NODE_NAME = "node-0"
NODE_ADDRESS = "198.51.100.1"
"""Out of a range for documentation (RFC 5737): nobody's, and never loopback."""
FOR_IMAGES = ("buildah", "mmdebstrap", "/bin/busybox")
FOR_A_NODE = ("containerd", "runc", "/usr/lib/cni/ptp", "iptables", "ip", "sysctl")
FILE_SYSTEMS = Path("/proc/filesystems")
CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = {"cpu", "cpuset", "memory", "pids"}
TRIALS = {
    "true": "namespaces of mounts, networks, host names and processes: let root make them",
    "ip link add left0 type veth peer name right0": "network devices: modprobe veth",
    "iptables --table nat --list": "packet filters: modprobe nf_tables or ip_tables",
}
"""Commands that have to succeed in namespaces of their own, and what is missing otherwise."""
HIDDEN = ("/tmp", "/run", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers")
"""What containerd, CNI, the kubelet and the tests write to. The machine's own may be a node's."""
TUNABLES = (
    *("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"),
    *("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"),
)
"""What a kubelet sets of the kernel, for all the machine: it writes to files in their place."""
# The shell is the first process of the namespace, and takes care of orphans until the command has
# ended. A node resolves its own name, also for pods on its network.
ENTER = f"""set -e
for folder in {" ".join(HIDDEN)}; do
  mkdir -p $folder
  mount -t tmpfs tmpfs $folder
done
mkdir /run/lock
for each in {" ".join(TUNABLES)}; do
  cp /proc/sys/$each /run/tunable-${{each##*/}}
  mount --bind /run/tunable-${{each##*/}} /proc/sys/$each
done
hostname {NODE_NAME}
printf '127.0.0.1 localhost\\n{NODE_ADDRESS} {NODE_NAME}\\n' > /run/hosts
mount --bind /run/hosts /etc/hosts
"$@"
exit $?"""


def obstacle() -> str:
    """Why there can be no real node here and what to do about it; empty where there can be one."""
    if why := images_obstacle():
        return why
    if packages := missing(*FOR_A_NODE):
        return f"a real node needs {', '.join(packages)}: make packages, or put them on PATH"
    if "\toverlay" not in FILE_SYSTEMS.read_text():
        return "a real node needs overlay file systems: modprobe overlay"
    needed = (PROJECT, cache_folder(), Path(sys.prefix))
    return hidden_obstacle(*needed) or cgroups_obstacle() or namespaces_obstacle()


def images_obstacle() -> str:
    """Why no images can be built here and what to do about it, or nothing."""
    if sys.platform != "linux":
        return "a real node and its images need Linux"
    if os.geteuid():
        return "a real node and its images need root: sudo make e2e"
    if packages := missing(*FOR_IMAGES):
        return f"images need {', '.join(packages)}: make packages, or put them on PATH"
    return ""


def hidden_obstacle(*needed: Path) -> str:
    """What of these paths would be hidden in the namespaces, and what to do about it."""
    for path, folder in itertools.product(needed, HIDDEN):
        if path.resolve().is_relative_to(folder):
            return f"a real node has a {folder} of its own: move {path} out of there"
    return ""


def cgroups_obstacle() -> str:
    """What a kubelet would miss of cgroups, of either version, and what to do about it."""
    if not (found := controllers()):
        return f"a real node needs cgroups, version 1 or 2: mount them below {CGROUPS}"
    if lacking := ", ".join(sorted(CONTROLLERS - found)):
        return f"a real node needs the cgroup controllers {lacking}: boot a kernel that has them"
    if not os.access(CGROUPS, os.W_OK):
        return f"a real node needs cgroups that it can write: mount -o remount,rw {CGROUPS}"
    return ""


def controllers() -> set[str]:
    """The controllers of version 2, or those of the hierarchies of version 1."""
    unified = CGROUPS / "cgroup.controllers"
    if unified.exists():
        return set(unified.read_text().split())
    hierarchies = [each.parent.name for each in CGROUPS.glob("*/cgroup.procs")]
    return {name for each in hierarchies for name in each.split(",")}


def namespaces_obstacle() -> str:
    """What this process lacks of namespaces and networks, and what to do about it."""
    for command, why in TRIALS.items():
        done = subprocess.run(command_line(command.split()), capture_output=True)
        if done.returncode:
            return f"a real node needs {why}"
    return ""


def command_line(command: Sequence[str]) -> list[str]:
    """The command as it runs in new namespaces, with which all that it started ends.

    They end with the process that runs this, whatever ends that one.
    """
    unshare = ["unshare", *NAMESPACES, "--fork", "--kill-child", "--mount-proc"]
    shell = ["env", f"{MARK}=1", "sh", "-c", ENTER, "sh"]
    return ["setpriv", "--pdeathsig=KILL", *unshare, *shell, *command]


def is_inside() -> bool:
    """Whether this process is in the namespaces of a real node."""
    return MARK in os.environ
