"""Fixtures of other folders, for the tests whose subject is timed here."""

from tests.cluster.conftest import crd
from tests.cluster.pdj.conftest import tool
from tests.cluster.ui.conftest import chromium, kubeconfig, site_lab

__all__ = ["chromium", "crd", "kubeconfig", "site_lab", "tool"]
