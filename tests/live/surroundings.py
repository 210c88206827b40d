"""Where a job is sent with little allowed: flags for restricted pods, and an index of its own."""

from pathlib import Path

from tests.live.wheel import write_wheel

ENFORCED = "pod-security.kubernetes.io/enforce=restricted"
POD = "spec.worker.template.spec"
TRAINER = f"{POD}.containers[0]"
RESTRICTED = (
    *("--set", f"{POD}.securityContext.runAsNonRoot=true"),
    *("--set", f"{POD}.securityContext.runAsUser=1000"),
    *("--set", f"{POD}.securityContext.seccompProfile.type=RuntimeDefault"),
    *("--set", f"{TRAINER}.securityContext.allowPrivilegeEscalation=false"),
    *("--set", f'{TRAINER}.securityContext.capabilities={{"drop":["ALL"]}}'),
)
READ_ONLY = ("--set", f"{TRAINER}.securityContext.readOnlyRootFilesystem=true")


def write_index(program: Path) -> str:
    """A package index without a network, with one package; returns its URL in the job's pods."""
    place = program / "simple" / "demo"
    place.mkdir(parents=True)
    name = write_wheel(place).name
    (place / "index.html").write_text(f'<a href="{name}">{name}</a>')
    return "file:///workspace/simple"
