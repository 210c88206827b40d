"""What the wheel's build rewrites in a module, and what it leaves as it is."""

import pytest

from release.nested import nest

MODULES = {"api", "api.rules", "kube", "kube.client", "pdj", "pdj.main"}
REWRITTEN = {
    "import api": "from paddlejob import api",
    "import kube.client": "import paddlejob.kube.client; from paddlejob import kube",
    "import kube.client as k": "import paddlejob.kube.client as k",
    "import os, api as a, sys": "import os; import paddlejob.api as a; import sys",
    "from api import rules as r": "from paddlejob.api import rules as r",
    "from  api.rules  import (\n  x,  # a\n)": "from  paddlejob.api.rules  import (\n  x,  # a\n)",
    "from \\\n  api import x": "from \\\n  paddlejob.api import x",
    "def f():\n\tfrom kube import x": "def f():\n\tfrom paddlejob.kube import x",
    "if x: import api; y()": "if x: from paddlejob import api; y()",
    "s = 'é'; from api import x": "s = 'é'; from paddlejob.api import x",
    "run('pdj.main')": "run('paddlejob.pdj.main')",
    '"""Run `python -m pdj up`."""': '"""Run `python -m paddlejob.pdj up`."""',
    "f'{x} -m pdj.main {y}'": "f'{x} -m paddlejob.pdj.main {y}'",
    "x = ('a'\n  ' -m pdj b')": "x = ('a'\n  ' -m paddlejob.pdj b')",
}


@pytest.mark.parametrize("source", REWRITTEN, ids=repr)
def test_what_names_a_module_is_rewritten(source):
    assert nest(source, MODULES) == REWRITTEN[source]


@pytest.mark.parametrize(
    "source",
    [
        "from . import api",
        "from .api import rules",
        "import apis, kubernetes.client",
        "from paddlejob.errors import api",
        "x = {'api': 1, 'kube': api.rules}",
        "x = 'pdj.paddlepaddle.org', 'the api.rules say', b'pdj.main'",
        "# from api import rules",
        "x = 'from api import rules'",
        "run('python -m pdjs', 'chmod -mpdj')",
    ],
)
def test_anything_else_stays(source):
    assert nest(source, MODULES).replace("; import ", ", ") == source


def test_a_name_in_pieces_is_an_error():
    with pytest.raises(ValueError, match=r"line 2: write the name pdj\.main in one piece"):
        nest("\nrun('pdj.' 'main')", MODULES)
