"""The tool in a namespace of a running operator."""

import pytest

from tests.live.lab import Lab
from tests.live.pdj import Tool


@pytest.fixture(scope="module")
def tool(module_lab: Lab) -> Tool:
    return Tool(module_lab)
