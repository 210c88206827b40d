"""$(VAR) references in env, command and args, as Kubernetes expands them. Pure."""

import re
from collections.abc import Mapping

REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace $(NAME) by its value; $$ is a literal $, and an unknown name stays as written."""

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0])

    return REFERENCE.sub(replace, text)
