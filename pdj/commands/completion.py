"""`completion SHELL`: prints a completion script for `kubectl-pdj`; `kubectl pdj` needs none."""

import argparse

from pdj.errors import OK
from pdj.session import Session

BASH = """\
_kubectl_pdj() {
    local words
    mapfile -t words < <(kubectl_complete-pdj "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    unset 'words[-1]'
    mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _kubectl_pdj kubectl-pdj
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + BASH.replace(
    'mapfile -t words < <(kubectl_complete-pdj "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)',
    'words=("${(@f)$(kubectl_complete-pdj "${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null)}")',
).replace(
    'mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "${COMP_WORDS[COMP_CWORD]}")',
    'COMPREPLY=($(compgen -W "${words[*]}" -- "${COMP_WORDS[$COMP_CWORD]}"))',
)
FISH = """\
complete -c kubectl-pdj -f -a '(kubectl_complete-pdj (commandline -opc)[2..] (commandline -ct) \\
    2>/dev/null | string match -v ":*")'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `completion`."""
    parser.add_argument("shell", choices=SCRIPTS, help="eval its output, or source it")


def run(session: Session) -> int:
    """Print the script."""
    session.screen.write(SCRIPTS[session.options.shell].rstrip("\n"))
    return OK
