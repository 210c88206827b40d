"""The list of jobs: how far each is, what it holds, whose it is, and what is wrong; its link."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from api.constants import ANNOTATION_SUBMITTED_BY
from api.objects import Raw
from tests.cluster.ui.conftest import NAMESPACE
from tests.cluster.ui.test_page import violations
from tests.live.browser import Served
from tests.live.lab import PADDLE_JOBS, SERVER, Lab, paddle_job
from tests.live.pdj import Tool

pytestmark = [pytest.mark.cluster]

JOBS = f"{PADDLE_JOBS}/namespaces/{NAMESPACE}/paddlejobs"
SAID = "train-a-worker-1 on node-0 exited with code 1: ValueError: loss is nan at step 7"
WIDTHS = (1280, 390)


def status(phase: str, reason: str, message: str = "", **more: Any) -> Raw:
    return {"phase": phase, "attempt": 2, "reason": reason, "message": message, **more}


def condition(reason: str, message: str) -> Raw:
    since = "2026-01-02T03:04:05Z"
    return {
        "type": "Failed",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }


def progress(attempt: int = 2, **more: Any) -> Raw:
    return {"attempt": attempt, **more}


STATUSES = {
    "train-a": status(
        "Failed",
        "PodFailed",
        f"{SAID[:40]}…",
        conditions=[condition("PodFailed", SAID)],
        failures=[
            {
                "attempt": 2,
                "pod": "train-a-worker-1",
                "reason": "PodFailed",
                "message": f"{SAID.partition(': ')[2]}\nValueError",
            }
        ],
    ),
    "train-b": status(
        "Running", "LossNotFinite", "the loss is nan since step 11",
        progress=progress(step=1200, totalSteps=2000, percent=60),
    ),
    "train-c": status("Running", "NoOutput", progress=progress(step=345)),
    "train-d": status(
        "Completed", "EndedEarly", progress=progress(step=10, totalSteps=100, percent=10)
    ),
    "train-e": status(
        "Running", "AllPodsRunning", progress=progress(1, step=9, totalSteps=9, percent=100)
    ),
    "train-f": status(
        "Completed", "WorkersSucceeded", progress=progress(step=7, totalSteps=7, percent=100)
    ),
}  # fmt: skip


def with_gpus(count: int) -> Raw:
    limits = {"resources": {"limits": {"nvidia.com/gpu": count}}}
    return {"spec": {"containers": [{**SERVER["spec"]["containers"][0], **limits}]}}


@pytest.fixture(scope="module", autouse=True)
def trained(site_lab: Lab) -> Iterator[None]:
    """Jobs of another controller, with these statuses; train-c is submitted by the user."""
    client = site_lab.cluster.client
    for name, told in STATUSES.items():
        job = paddle_job(name, {"worker": (4, with_gpus(2))}, managedBy="example.com/none")
        if name == "train-c":
            Tool(site_lab).ok("submit", "-", stdin=json.dumps(job).encode())
        else:
            job["metadata"]["annotations"] = {ANNOTATION_SUBMITTED_BY: "oidc:li.lei@example.com"}
            client.create(JOBS, job)
        site_lab.patch(PADDLE_JOBS, f"paddlejobs/{name}/status", status=told)
    yield
    for name in STATUSES:
        client.delete(f"{JOBS}/{name}")


def cell(page: Page, name: str, column: str) -> str:
    found = page.locator("tbody tr", has=page.locator(f"a:text-is('{name}')"))
    return found.locator(f".col-{column}").inner_text()


def names(page: Page) -> list[str]:
    return page.locator("tbody .col-name").all_inner_texts()


def test_each_job_shows_how_far_it_is_what_it_holds_and_whose_it_is(page: Page) -> None:
    expect(page.locator("tbody tr", has_text="train-f")).to_contain_text("100%")
    assert cell(page, "train-b", "progress") == "60%"
    assert cell(page, "train-c", "progress") == "step 345"
    assert cell(page, "train-e", "progress") == "", "that of an earlier attempt"
    assert cell(page, "train-b", "accelerators") == "8"
    assert cell(page, "resnet50", "accelerators") == ""
    assert cell(page, "train-b", "by") == "oidc:li.lei@example.com"
    page.click("button.sort:has-text('Progress')")
    assert names(page)[:4] == ["train-f", "train-b", "train-d", "train-c"]


def test_the_cause_stands_before_the_pod_and_its_exit_code(page: Page) -> None:
    why = cell(page, "train-a", "why")
    assert why.index("ValueError: loss is nan at step 7") < why.index("train-a-worker-1")


@pytest.mark.parametrize(
    ("name", "word", "chinese"),
    [
        ("train-b", "loss not finite", "loss 非有限数"),
        ("train-c", "hangs", "卡住"),
        ("train-d", "ended early", "提前结束"),
    ],
)
def test_trouble_in_a_phase_that_is_fine_is_seen_in_colour_and_a_word(
    page: Page, name: str, word: str, chinese: str
) -> None:
    def colour(of: str) -> str:
        found = page.locator("tbody tr", has=page.locator(f"a:text-is('{of}')")).locator(".pill")
        return str(found.evaluate("node => getComputedStyle(node).backgroundColor"))

    assert cell(page, name, "why").startswith(word)
    fine = {"train-d": "train-f"}.get(name, "train-e")
    assert colour(name) != colour(fine)
    page.click("#language")
    expect(page.locator("tbody")).to_contain_text(chinese)


def test_mine_are_those_that_the_user_has_submitted(page: Page) -> None:
    page.click(".chip:has-text('Mine')")
    assert names(page) == ["train-c"]
    page.reload()
    expect(page.locator(".chip:has-text('Mine')")).to_have_attribute("aria-pressed", "true")
    assert names(page) == ["train-c"]
    page.click(".chip:has-text('Mine')")
    assert "train-b" in names(page)


def test_the_address_is_a_link_to_what_is_shown(page: Page, site: Served) -> None:
    page.fill("input[type=search]", "li.lei")
    page.click(".chip:has-text('Completed')")
    page.click("button.sort:has-text('Name')")
    page.click("button.sort:has-text('Name')")
    found, link = names(page), page.url
    assert found == ["train-f", "train-d"]
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("tbody tr")).to_have_count(2)
    assert names(page) == found
    assert page.input_value("input[type=search]") == "li.lei"
    page.click("tbody a >> nth=0")
    page.wait_for_selector("h1:text-is('train-f')")
    page.keyboard.press("Escape")
    expect(page.locator("tbody tr")).to_have_count(2)
    assert page.url == link, "back from a job"
    page.go_back()
    page.wait_for_selector("h1:text-is('train-f')")


@pytest.mark.parametrize(
    "query",
    [
        "sort=__proto__&turned=1",
        "sort=pods",
        "constructor=1&text=",
        "text=%E0%A4%A&x=%",
        "phase=<b>",
    ],
)
def test_an_address_that_makes_no_sense_does_no_harm(page: Page, site: Served, query: str) -> None:
    page.goto("about:blank")
    page.goto(f"{site.base}/#/?{query}")
    expect(page.locator(".chip").first).to_be_visible()
    page.goto(f"{site.base}/#/")
    expect(page.locator("tbody tr:visible, .empty p").first).to_be_visible()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(page: Page, width: int, scheme: Any, tmp_path: Path) -> None:
    """With PDJ_LOOK set, pictures are kept in that folder."""
    folder = Path(os.environ.get("PDJ_LOOK") or tmp_path)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    for language in ("en", "zh"):
        expect(page.locator(".chip").nth(2)).to_be_visible()
        page.screenshot(path=folder / f"list-{width}-{scheme}-{language}.png")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert violations(page) == []
        page.click("#language")
