"""One browser and one `kubectl pdj ui` for the tests of a module, in a namespace with jobs."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, ViewportSize

from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.browser import Served, browser, served
from tests.live.lab import CORE, PADDLE_JOBS, SERVER, Lab, paddle_job, shell

NAMESPACE = "vision"
"""It stands in the pictures of the documents."""
WINDOW: ViewportSize = {"width": 1200, "height": 800}
TRAIN = """i=0; while true; do i=$((i+1))
echo "step $((i*20))/40000, loss: 0.$((900-i)), ips: 41$((i%10)).7 images/s"; sleep 1; done"""
OUT_OF_MEMORY = """echo 'Traceback (most recent call last):'
echo '  File "train.py", line 88, in <module>'; sleep 3
echo 'MemoryError: Cannot allocate 11.2GB memory on GPU 0, only 2.5GB are left.'; exit 1"""
JOBS = (
    paddle_job("resnet50", {"worker": (2, shell(TRAIN)), "ps": (1, SERVER)}),
    paddle_job("bert-large", {"worker": (2, shell(OUT_OF_MEMORY))}, backoffLimit=20),
    paddle_job(
        "yolo-debug", {"worker": (1, shell("echo 'FileNotFoundError: /data/coco'; exit 2"))}
    ),
    paddle_job(
        "llama-sft",
        {"worker": (4, {"spec": {**SERVER["spec"], "nodeSelector": {"gpu": "a100"}}})},
    ),
    paddle_job("ocr-nightly", {"worker": (2, SERVER)}, suspend=True),
    paddle_job("ctr-wide-deep", {"worker": (2, shell("echo done"))}, cleanPodPolicy="Never"),
)


@pytest.fixture(scope="module")
def site_lab(operated: Cluster) -> Iterator[Lab]:
    """The namespace, with a job in each state that the tests look at."""
    path = f"{CORE}/namespaces/{NAMESPACE}"
    operated.client.create(f"{CORE}/namespaces", {"metadata": {"name": NAMESPACE}})
    account = f"{path}/serviceaccounts/default"
    assert clock.wait_until(lambda: operated.client.find(account) is not None, patience.SECONDS)
    lab = Lab(operated, NAMESPACE)
    lab.submit(*JOBS)
    lab.wait_phase("resnet50", "Running")
    lab.wait_completed("ctr-wide-deep")
    lab.wait_phase("yolo-debug", "Failed")
    lab.wait_phase("ocr-nightly", "Suspended")
    lab.wait(lambda: lab.condition("llama-sft", "Pending").get("reason") == "Unschedulable", "so")
    lab.wait(lambda: len(lab.status("bert-large").get("failures") or ()) > 1, "two failures")
    yield lab
    operated.client.delete(path)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def kubeconfig(site_lab: Lab) -> str:
    return site_lab.cluster.kubectl_environment()["KUBECONFIG"]


@pytest.fixture(scope="module")
def site(chromium: Browser, kubeconfig: str) -> Iterator[Served]:
    """The command, for an administrator."""
    with served(kubeconfig, "-n", NAMESPACE) as running:
        yield running


@pytest.fixture(scope="module")
def visitor(chromium: Browser, site: Served) -> Iterator[BrowserContext]:
    """Somebody who has opened the printed address."""
    context = enter(chromium, site)
    yield context
    context.close()


@pytest.fixture(scope="module")
def tab(visitor: BrowserContext) -> Page:
    """One for all tests: a new one is a process more, and compiles all scripts again."""
    return visitor.new_page()


@pytest.fixture
def page(tab: Page, site: Served) -> Iterator[Page]:
    """A tab with the list. No script may fail, and nothing be refused by the page's own policy."""
    wrong = list[str]()
    listeners: dict[str, Callable[[Any], object]] = {
        "pageerror": lambda error: wrong.append(str(error)),
        "console": lambda said: wrong.append(said.text) if is_wrong(said.text) else None,
    }
    for event, listener in listeners.items():
        tab.on(event, listener)  # type: ignore[call-overload]
    tab.set_viewport_size(WINDOW)
    tab.emulate_media(color_scheme="light", reduced_motion="no-preference")
    tab.goto(site.base)
    tab.wait_for_selector("tbody tr")
    yield tab
    tab.evaluate("['theme', 'language'].forEach((name) => localStorage.removeItem(name))")
    tab.goto("about:blank")
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert not wrong


def is_wrong(text: str) -> bool:
    """Whether this console message reports a defect; a refused request does not."""
    return "Content Security Policy" in text or "TrustedHTML" in text or "Error:" in text


def enter(chromium: Browser, site: Served) -> BrowserContext:
    context = chromium.new_context(viewport=WINDOW, locale="en-US")
    tab = context.new_page()
    tab.goto(site.url)
    tab.wait_for_url(f"{site.base}/")
    tab.close()
    return context


def open_job(page: Page, name: str, tab: str = "", namespace: str = NAMESPACE) -> None:
    """Show a job, and wait for what explains it."""
    page.evaluate("hash => { location.hash = hash }", f"#/jobs/{namespace}/{name}/{tab}")
    page.wait_for_selector(f"h1:text-is('{name}')")
    page.wait_for_selector(".cause")


def row(page: Page, name: str) -> Locator:
    """A job's line in the list."""
    return page.locator("tbody tr", has=page.locator(f"a:text-is('{name}')"))


@contextmanager
def crowd_of(cluster: Cluster, many: int) -> Iterator[str]:
    """A namespace with so many jobs of another controller: what counts is the page."""
    with new_namespace(cluster) as crowd:
        path = f"{PADDLE_JOBS}/namespaces/{crowd}/paddlejobs"

        def create(number: int) -> None:
            job = paddle_job(f"job-{number}", {"worker": (1, SERVER)}, managedBy="example.com/none")
            cluster.client.create(path, job)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(create, range(many)))
        yield crowd
