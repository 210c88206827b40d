"""`python -m tests.live.debian`: install Debian's packages that some tests need, where root may.

Elsewhere those tests are skipped, and say which package they miss.
"""

import os
import shutil
import subprocess
import sys

WHERE = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
"""Debian leaves the folders of root's programs out of the PATH of others."""
# By a program of the package, or a file of it.
PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
    "iptables": "iptables",
    "ip": "iproute2",
    "sysctl": "procps",
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    "/bin/busybox": "busybox-static",
    "chromium": "chromium",
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc": "fonts-noto-cjk",
    "promtool": "prometheus",
    "lua5.1": "lua5.1",
}


def missing(*programs: str) -> list[str]:
    """The packages of which one of these programs is not there."""
    return [PACKAGES[each] for each in programs if not shutil.which(each, os.F_OK, WHERE)]


def main() -> int:
    """Install what is missing, or say why not; apt's exit code."""
    return ensure(*PACKAGES)


def ensure(*programs: str) -> int:
    """The same of the packages of these programs."""
    packages = missing(*programs)
    if not packages:
        return 0
    names = " ".join(packages)
    if os.geteuid() or not shutil.which("apt-get"):
        say(f"not installed, so their tests are skipped: {names} (root and apt-get are needed)")
        return 0
    say(f"installing {names} ...")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, check=False)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    return subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
