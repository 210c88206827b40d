"""The page of `kubectl pdj ui` in a real browser, on jobs of a real cluster."""

import os
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, expect

from api.catalogue.meaning import WHO, say
from api.catalogue.reasons import REASONS
from api.constants import Reason
from api.objects import Raw
from tests.cluster.ui.conftest import NAMESPACE, crowd_of, enter, open_job, row
from tests.live import patience
from tests.live.browser import Served, served
from tests.live.lab import CORE, PADDLE_JOBS, SERVER, Lab, paddle_job, shell
from tests.live.pdj import CHECKOUT, run_forked
from tests.live.proxy import FaultProxy, cut, refuse
from tests.live.tenant import write_rights

MANY = 1000
PICTURES = CHECKOUT / "docs" / "images"
MAX_PICTURE_BYTES = 150_000
JOBS = f"{PADDLE_JOBS}/namespaces/{NAMESPACE}/paddlejobs"
READ = "get,list,watch"
SIZES: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1280, "light"), (390, "dark"))
SAYS = {
    "resnet50": ("Running", "ps 1/1"),
    "yolo-debug": ("PodFailed",),
    "llama-sft": ("Unschedulable",),
    "ocr-nightly": ("Suspended",),
}
ALL_READ = "pods,pods/log,events,paddlejobs.batch.paddlepaddle.org"


@pytest.fixture(autouse=True)
def long_waits() -> None:
    """A machine under three test runs needs more than a browser usually waits."""
    expect.set_options(timeout=patience.SECONDS * 1000)


@pytest.fixture
def busy(site_lab: Lab) -> Iterator[str]:
    """A job that a test may change."""
    name = f"busy-{time.monotonic_ns()}"
    site_lab.submit(paddle_job(name, {"worker": (1, SERVER)}))
    site_lab.wait_phase(name, "Running")
    yield name
    site_lab.kubectl("delete", "pdj", name, "--ignore-not-found", "--wait=false")


def test_the_documents_show_the_page(page: Page, tmp_path: Path) -> None:
    """With PDJ_PICTURES set they are made anew; else they have to be there, and no larger."""
    names = ("page-jobs.png", "page-job.png", "page-dark.png")
    folder = PICTURES if os.environ.get("PDJ_PICTURES") else tmp_path
    page.set_viewport_size({"width": 1120, "height": 360})
    page.screenshot(path=folder / names[0])
    page.set_viewport_size({"width": 1120, "height": 780})
    open_job(page, "bert-large")
    expect(page.locator(".picture svg")).to_be_visible()
    page.screenshot(path=folder / names[1])
    page.emulate_media(color_scheme="dark")
    open_job(page, "resnet50")
    expect(page.locator(".log .line").nth(8)).to_be_visible()
    page.click("#language")
    expect(page.locator(".log .line").nth(8)).to_be_visible()
    page.screenshot(path=folder / names[2])
    for name in names:
        assert (folder / name).read_bytes()[:4] == b"\x89PNG"
        assert (PICTURES / name).stat().st_size < MAX_PICTURE_BYTES
        for document in ("tools.md", "tools.zh.md"):
            assert f"images/{name}" in (CHECKOUT / "docs" / document).read_text()


def test_jobs_are_listed_with_phase_and_reason(page: Page) -> None:
    for name, words in SAYS.items():
        for word in words:
            expect(row(page, name)).to_contain_text(word)


def test_a_reason_is_coloured_where_somebody_has_to_act(page: Page) -> None:
    for word in ("PodFailed", "Unschedulable"):
        expect(page.locator("tbody .reason.warning", has_text=word).first).to_be_visible()
    coloured = page.locator("tbody .reason.warning").all_inner_texts()
    assert not {"WorkersSucceeded", "AllPodsRunning"} & {*coloured}


def test_a_loss_that_is_spoiled_comes_first(page: Page, site_lab: Lab) -> None:
    nan = "while true; do i=$((i + 1)); echo step $i loss: nan; sleep 1; done"
    site_lab.submit(paddle_job("spoiled", {"worker": (1, shell(nan))}))
    try:
        site_lab.wait_phase("spoiled", "Running")
        open_job(page, "spoiled")
        first = page.locator(".reason-block").first
        expect(first.locator("code.warning")).to_have_text("LossNotFinite")
        expect(first).to_contain_text("the loss is nan since step 1")
        expect(page.locator(".training")).to_contain_text("not finite since step 1")
    finally:
        site_lab.cluster.client.delete(f"{JOBS}/spoiled")


def test_a_change_is_shown_without_a_question(page: Page, site_lab: Lab) -> None:
    """The command tells the page, which neither asks again and again nor is loaded anew."""
    client, asked = site_lab.cluster.client, list[str]()

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    client.create(JOBS, paddle_job("new", {"worker": (1, SERVER)}, suspend=True))
    link = page.locator("tbody a", has_text=re.compile("^new$"))
    link.wait_for(timeout=patience.SECONDS * 1000)
    expect(page.locator("tbody tr").first).to_contain_text("Suspended")
    client.delete(f"{JOBS}/new")
    link.wait_for(state="detached", timeout=patience.SECONDS * 1000)
    page.remove_listener("request", note)
    assert asked == []


def test_the_list_is_filtered_by_text_and_phase(page: Page) -> None:
    names = page.locator("tbody .col-name")
    page.keyboard.press("/")
    page.keyboard.type("unsched")
    assert names.all_inner_texts() == ["llama-sft"]
    page.keyboard.type("nothing like it")
    expect(page.locator(".empty")).to_contain_text("No job matches")
    page.click("text=Clear the filters")
    page.click(".chip:has-text('Suspended')")
    assert names.all_inner_texts() == ["ocr-nightly"]
    page.click(".chip:has-text('All')")
    page.click("button.sort:has-text('Name')")
    assert names.all_inner_texts() == sorted(names.all_inner_texts())


def test_why_is_told_in_both_languages(page: Page) -> None:
    open_job(page, "llama-sft")
    meaning = REASONS[Reason.UNSCHEDULABLE]
    for language in ("en", "zh-CN"):
        cause, step, who = (
            say(words, language[:2])
            for words in (meaning.cause, meaning.next_step, WHO[meaning.who])
        )
        expect(page.locator("html")).to_have_attribute("lang", language)
        why = page.locator(".why")
        expect(why).to_contain_text(cause.replace("`", ""))
        expect(why).to_contain_text(step.replace("`", ""))
        expect(why).to_contain_text(who)
        expect(why).to_contain_text("node-0: cpu")
        page.click("#language")


def test_the_training_is_shown_as_its_log_says(page: Page) -> None:
    open_job(page, "resnet50")
    training = page.locator(".training")
    words = r"step [\d,]+/40,000 \(\d+ %\)loss 0\.\d+41\d\.7 samples/s.*last output \d+s ago"
    expect(training).to_contain_text(re.compile(words))
    expect(training.locator("progress")).to_have_attribute("value", re.compile(r"\d+"))
    curve = training.locator("svg polyline")
    expect(curve).to_have_attribute(
        "points", re.compile(r"^56\.0,10\.0 .*350\.0,130\.0$")
    )  # it falls
    expect(training.locator("svg text")).to_have_count(5)
    page.click("#language")
    expect(training).to_contain_text("最后输出于")
    open_job(page, "ctr-wide-deep")
    expect(page.locator(".why")).to_contain_text(re.compile("."))
    expect(training).to_be_hidden()


def test_the_timeline_shows_phases_attempts_and_what_ended_them(page: Page) -> None:
    open_job(page, "bert-large")
    names = page.locator(".picture .name title")
    expect(names).to_have_text(["phases", "attempts", "worker-0", "worker-1"])
    marks = " ".join(page.locator(".picture .mark title").all_text_contents())
    assert re.search(r"PodFailed, bert-large-worker-\d, exit code 1", marks)
    bars = " ".join(page.locator(".picture .bar title").all_text_contents())
    assert "attempt 1: ended" in bars
    assert "Restarting" in bars
    assert re.search(r"(failed|ran, then was stopped).*\d\d:\d\d:\d\d until", bars)
    open_job(page, "ctr-wide-deep")
    expect(page.locator(".picture .pod title", has_text="ended well").first).to_be_attached()


def test_an_event_of_a_far_future_leaves_the_timeline_usable(page: Page, site_lab: Lab) -> None:
    job = paddle_job("timeless", {"worker": (1, SERVER)}, suspend=True)
    site_lab.submit(job)
    target = {"kind": "PaddleJob", "name": "timeless", "namespace": NAMESPACE}
    event = {
        "metadata": {"name": "timeless.9998"},
        "involvedObject": target | {"uid": site_lab.job("timeless")["metadata"]["uid"]},
        "reason": Reason.RESUMED,
        "lastTimestamp": "9998-01-01T00:00:00Z",
    }
    site_lab.cluster.client.create(f"{CORE}/namespaces/{NAMESPACE}/events", event)
    open_job(page, "timeless")
    ticks = page.locator(".picture .axis")
    expect(ticks.last).to_contain_text(re.compile(r"\+\d{5,}d"))
    assert ticks.count() <= 15
    site_lab.kubectl("delete", "pdj", "timeless")


def test_everything_else_stands_behind_tabs(page: Page) -> None:
    open_job(page, "bert-large", "failures")
    expect(page.locator(".failure").first).to_contain_text("exit code 1")
    expect(page.locator(".failure pre").first).to_contain_text("Cannot allocate 11.2GB")
    open_job(page, "resnet50", "pods")
    expect(page.locator("#panel")).to_contain_text("resnet50-worker-1")
    expect(page.locator("#panel")).to_contain_text("node-")
    open_job(page, "resnet50", "events")
    expect(page.locator("#panel")).to_contain_text("AllPodsRunning")
    open_job(page, "resnet50", "conditions")
    expect(page.locator("#panel")).to_contain_text("PodsScheduled")
    open_job(page, "resnet50", "yaml")
    expect(page.locator(".yaml")).to_contain_text("kind: PaddleJob")


def test_logs_of_all_pods_follow(page: Page) -> None:
    open_job(page, "resnet50")
    lines = page.locator(".log .line")
    for worker in ("worker-0", "worker-1"):
        expect(page.locator(".log .who", has_text=worker).first).to_be_visible()
    before = lines.count()
    page.wait_for_function("n => document.querySelectorAll('.line').length > n + 2", arg=before)
    page.locator(".panel select").select_option("worker/1")
    expect(page.locator(".log .who", has_text="worker-0")).to_have_count(0)
    expect(lines.first).to_contain_text("worker-1")
    page.fill(".panel input[type=search]", "step 20/")
    expect(page.locator(".line:visible")).to_have_count(1)


def test_logs_go_on_over_a_restart_of_the_gang(page: Page, busy: str, site_lab: Lab) -> None:
    open_job(page, busy)
    site_lab.kubectl("delete", "pdj", busy)
    site_lab.submit(
        paddle_job(busy, {"worker": (1, shell("echo hello; sleep 2; exit 1"))}, backoffLimit=3)
    )
    expect(page.locator(".log .who", has_text="#2").first).to_be_visible()
    expect(page.locator(".log .line", has_text="hello").first).to_be_visible()


def act(page: Page, action: str) -> None:
    """Take an action and confirm it."""
    page.click(f"button[data-action={action}]")
    page.click("dialog button[type=submit]")
    expect(page.locator("dialog")).to_have_count(0)


def test_suspend_scale_and_resume(page: Page, busy: str, site_lab: Lab) -> None:
    open_job(page, busy)
    act(page, "suspend")
    expect(page.locator(".title .pill")).to_contain_text("Suspended")
    page.click("button[data-action=scale]")
    page.fill("#workers", "3")
    page.click("dialog button[type=submit]")
    expect(page.locator("dialog")).to_have_count(0)
    assert site_lab.job(busy)["spec"]["worker"]["replicas"] == 3
    act(page, "resume")
    expect(page.locator(".title .pill")).to_contain_text("Running")
    assert len(site_lab.pod_names(busy)) == 3


def test_restart_begins_a_new_attempt(page: Page, busy: str, site_lab: Lab) -> None:
    open_job(page, busy)
    act(page, "restart")
    expect(page.locator(".facts")).to_contain_text("attempt 2")
    assert site_lab.status(busy)["attempt"] == 2


def test_delete_asks_first(page: Page, busy: str, site_lab: Lab) -> None:
    open_job(page, busy)
    page.click("button[data-action=delete]")
    expect(page.locator("dialog")).to_contain_text("cannot be undone")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    assert site_lab.job(busy)
    act(page, "delete")
    expect(page.locator("main")).to_contain_text("This job has been deleted")
    site_lab.wait(lambda: site_lab.get(PADDLE_JOBS, f"paddlejobs/{busy}") is None, "gone")


def test_an_action_is_for_the_job_that_was_seen(page: Page, busy: str, site_lab: Lab) -> None:
    open_job(page, busy)
    page.click("button[data-action=delete]")
    site_lab.kubectl("delete", "pdj", busy)
    site_lab.submit(paddle_job(busy, {"worker": (1, SERVER)}))
    page.click("dialog button[type=submit]")
    expect(page.locator("dialog .problem")).to_contain_text("another job now")
    assert site_lab.job(busy)


def test_an_ended_job_can_only_be_deleted(page: Page) -> None:
    open_job(page, "yolo-debug")
    expect(page.locator("[data-action]")).to_have_count(1)
    expect(page.locator("[data-action=delete]")).to_have_count(1)


def test_who_may_only_read_sees_no_action_and_is_refused(chromium: Browser, site_lab: Lab) -> None:
    kubeconfig = write_rights(site_lab, "reader", (READ, ALL_READ))
    with served(str(kubeconfig), "-n", NAMESPACE) as site, closing(enter(chromium, site)) as user:
        tab = user.new_page()
        tab.goto(f"{site.base}/#/jobs/{NAMESPACE}/resnet50")
        with tab.expect_response("**/rights") as answered:
            tab.reload()
        assert answered.value.json() == {"patch": False, "delete": False}
        expect(tab.locator(".log .line").first).to_be_visible()
        assert tab.locator("[data-action]").count() == 0
        code, text = send(tab, "resnet50", "suspend", site_lab.job("resnet50")["metadata"]["uid"])
        assert (code, "forbidden" in text) == (403, True)
    assert not site_lab.job("resnet50")["spec"].get("suspend")


def send(tab: Page, job: str, action: str, uid: str) -> list[Any]:
    """Send an action past the buttons; the code and the text of the answer."""
    script = """async ([path, uid]) => {
        const headers = {'x-pdj-key': localStorage.getItem('key')};
        const answer = await fetch(path, {method: 'POST', body: JSON.stringify({uid}), headers});
        return [answer.status, await answer.text()];
    }"""
    path = f"/api/jobs/{NAMESPACE}/{job}/{action}"
    return list(tab.evaluate(script, [path, uid]))


def test_who_may_see_jobs_but_no_pods_is_told_so(chromium: Browser, site_lab: Lab) -> None:
    kubeconfig = write_rights(site_lab, "glance", (READ, "paddlejobs.batch.paddlepaddle.org"))
    with served(str(kubeconfig), "-n", NAMESPACE) as site, closing(enter(chromium, site)) as user:
        tab = user.new_page()
        tab.goto(f"{site.base}/#/jobs/{NAMESPACE}/resnet50")
        expect(tab.locator(".cause")).to_contain_text("Every pod runs")
        expect(tab.locator(".lognote")).to_contain_text("pods is forbidden")
        open_job(tab, "resnet50", "pods")
        expect(tab.locator("#panel")).to_contain_text("The pods cannot be read")


HOSTILE = r"""printf '<img src=x onerror=document.title=1><script>document.title=2</script>\n'
printf '\033[31mred\033[0m \342\200\256evil\342\200\254 bad\377byte\n'
head -c 1000000 /dev/zero | tr '\0' x; echo; echo '<b>last</b>'; exit 7"""


def test_hostile_content_stays_text(page: Page, site_lab: Lab) -> None:
    job = paddle_job("hostile", {"worker": (1, shell(HOSTILE))}, cleanPodPolicy="Never")
    job["metadata"]["annotations"] = {"note": "<script>document.title=3</script>\u202e"}
    site_lab.submit(job)
    expect(page.locator("tbody tr", has_text="hostile")).to_contain_text("<b>last</b>")
    expect(page.locator("tbody tr", has_text="hostile")).to_contain_text("Failed")
    open_job(page, "hostile")
    log = page.locator(".log")
    expect(log).to_contain_text("<img src=x onerror=document.title=1>")
    expect(log).to_contain_text(r"red \u202eevil\u202c bad�byte")
    expect(log).to_contain_text("<b>last</b>")
    assert max(map(len, log.locator(".text").all_inner_texts())) < 10_000
    open_job(page, "hostile", "failures")
    expect(page.locator(".failure pre")).to_contain_text("<b>last</b>")
    open_job(page, "hostile", "yaml")
    expect(page.locator(".yaml")).to_contain_text(r"</script>\u202e")
    assert page.locator("main img, main script, main b").count() == 0
    assert "hostile" in page.title()
    page.goto(f"{page.url.partition('#')[0]}#/jobs/%/%E0%A4%A")
    expect(page.locator("h1")).to_contain_text("%E0%A4%A")


def test_a_thousand_jobs_are_shown(chromium, kubeconfig, site_lab):
    client = site_lab.cluster.client
    with (
        crowd_of(site_lab.cluster, MANY) as crowd,
        served(kubeconfig, "-A") as site,
        closing(enter(chromium, site)) as user,
    ):
        tab = user.new_page()
        tab.goto(site.base)
        rows = tab.locator("tbody tr")
        tab.wait_for_function("n => document.querySelectorAll('tbody tr').length >= n", arg=MANY)
        tab.select_option("select", NAMESPACE)
        expect(rows.filter(has_text="resnet50")).to_have_count(1)
        tab.select_option("select", "")
        link = tab.locator(f"a[href='#/jobs/{crowd}/job-7']")
        link.wait_for()
        client.delete(f"{PADDLE_JOBS}/namespaces/{crowd}/paddlejobs/job-7")
        link.wait_for(state="detached")


@pytest.mark.parametrize("job", ["", "bert-large"])
def test_it_fits_a_telephone(page: Page, job: str) -> None:
    page.set_viewport_size({"width": 380, "height": 760})
    if job:
        open_job(page, job)
    wide = page.evaluate("document.scrollingElement.scrollWidth")
    assert wide <= 380
    # All at once: the page draws itself anew, and a button that is gone has no height.
    buttons = page.locator("button:visible")
    heights = buttons.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert min(heights) >= 24


def test_colours_are_the_systems_unless_chosen(page: Page) -> None:
    def is_dark() -> bool:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return int(re.findall(r"\d+", colour)[0]) < 128

    assert not is_dark()
    page.emulate_media(color_scheme="dark")
    assert is_dark()
    page.click("#theme")
    assert not is_dark()
    page.click("#theme")
    page.emulate_media(color_scheme="light")
    assert is_dark()
    page.reload()
    assert is_dark()


def test_the_keyboard_goes_everywhere(page: Page) -> None:
    link = page.locator("tbody a:text-is('resnet50')")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".cause")
    page.locator("#tab-logs").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-pods")).to_be_focused()
    expect(page.locator("#tab-pods")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    page.wait_for_selector("table.jobs")


def test_screen_readers_find_nothing_wrong(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")  # colours are looked at, and none may be on its way
    found = {"list": violations(page)}
    page.emulate_media(color_scheme="dark")
    found["list, dark"] = violations(page)
    for tab in ("logs", "pods", "failures", "events", "conditions", "yaml"):
        open_job(page, "bert-large", tab)
        found[tab] = violations(page)
    page.emulate_media(color_scheme="light")
    open_job(page, "llama-sft")
    page.click("#language")
    page.wait_for_selector(".cause")
    found["chinese"] = violations(page)
    page.click("button[data-action=delete]")
    found["dialog"] = violations(page)
    assert not {where: each for where, each in found.items() if each}


def violations(page: Page) -> list[str]:
    """What axe finds."""
    result = Axe().run(page).response
    assert len(result["passes"]) > 10, "axe has looked at nothing"
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in result["violations"]]


def test_a_cluster_that_goes_away_and_a_login_that_expires_are_told(chromium, site_lab, tmp_path):
    with closing(FaultProxy(site_lab.cluster)) as proxy:
        kubeconfig = proxy.write_kubeconfig(tmp_path / "kubeconfig")
        with (
            served(str(kubeconfig), "-n", NAMESPACE) as site,
            closing(enter(chromium, site)) as user,
        ):
            tab = user.new_page()
            for path in ("", f"#/jobs/{NAMESPACE}/resnet50"):
                tab.goto(f"{site.base}/{path}")
                tab.reload()
                notice = tab.locator("#notice")
                expect(tab.locator("tbody tr, .cause").first).to_be_visible()
                with proxy.rule("", "/", cut):
                    proxy.cut_all()
                    expect(notice).to_contain_text("The cluster does not answer")
                expect(notice).to_be_empty()
                with proxy.rule("", "/", refuse(401, "Unauthorized")):
                    proxy.cut_all()
                    expect(notice).to_contain_text("Your login is not accepted")
                tab.click("text=Try again")
                expect(notice).to_be_empty()
                expect(tab.locator("tbody tr, .cause").first).to_be_visible()
            proxy.freeze(lambda _path: True)  # and Ctrl-C still ends the command


def test_the_end_of_the_command_is_told(chromium: Browser, kubeconfig: str) -> None:
    with served(kubeconfig, "-n", NAMESPACE) as site:
        user = enter(chromium, site)
        tab = user.new_page()
        tab.goto(site.base)
        expect(tab.locator("tbody tr").first).to_be_visible()
    expect(tab.locator("#notice")).to_contain_text("does not answer")
    user.close()


def test_the_commands_of_the_documents_serve_it(site_lab: Lab, kubeconfig: str) -> None:
    lines = (CHECKOUT / "docs" / "tools.md").read_text().splitlines()
    commands = [line for line in lines if line.startswith("kubectl pdj ui")]
    assert commands
    for line in commands:
        with served(kubeconfig, *shlex.split(line)[3:]) as site:
            assert "--port" not in line or f"--port {site.port}" in line


def test_the_browser_that_is_opened_comes_in_without_the_token(
    chromium: Browser, kubeconfig: str, site_lab: Lab, tmp_path: Path
) -> None:
    told, opener = tmp_path / "told", tmp_path / "opener"
    opener.write_text(f'#!/bin/sh\nprintf %s "$*" > {told}.part && mv {told}.part {told}\n')
    opener.chmod(0o755)
    with served(kubeconfig, "-n", NAMESPACE, BROWSER=str(opener)) as site:
        site_lab.wait(told.exists, "a browser is opened")
        assert "token" not in told.read_text()
        with closing(chromium.new_context()) as user:
            tab = user.new_page()
            tab.goto(told.read_text())
            expect(tab.locator("tbody a:text-is('resnet50')")).to_be_visible()
            (cookie,) = user.cookies()
            assert (cookie["name"], cookie["sameSite"], cookie["httpOnly"]) == (
                f"pdj-{site.port}",
                "Strict",
                True,
            )


def test_a_port_that_is_taken_is_one_line(site: Served, kubeconfig: str) -> None:
    done = run_forked("ui", "--no-browser", f"--port={site.port}", kubeconfig=kubeconfig)
    assert (done.code, done.out) == (1, "")
    assert done.notes.startswith(f"error: port {site.port} is not available")
    assert done.notes.count("\n") == 1


def test_no_job_is_no_empty_page(chromium: Browser, kubeconfig: str) -> None:
    with served(kubeconfig, "-n", "default") as site, closing(enter(chromium, site)) as user:
        tab = user.new_page()
        tab.goto(site.base)
        expect(tab.locator(".empty")).to_contain_text("kubectl pdj submit")
        tab.goto(f"{site.base}/#/jobs/default/none")
        expect(tab.locator("main")).to_contain_text("There is no such job")


def a_trained_job(name: str, rate: str, losses: list[float]) -> tuple[Raw, Raw]:
    """A job of another controller, and the status of it when it has ended."""
    spec = {"containers": [{"name": "paddle", "env": [{"name": "RATE", "value": rate}]}]}
    job = paddle_job(name, {"worker": (1, {"spec": spec})}, managedBy="example.com/none")
    times = [f"2026-01-01T00:{minute:02}:00Z" for minute in range(len(losses))]
    points = enumerate(zip(times, losses, strict=True), 1)
    history = [f"{10 * at} {time} {loss:g}" for at, (time, loss) in points]
    progress = {"attempt": 1, "step": 10 * len(losses), "history": history}
    ended = {"completionTime": times[-1], "startTime": times[0]}
    return job, {"phase": "Completed", "attempt": 1, "progress": progress, **ended}


@pytest.fixture
def pair(site_lab: Lab) -> Iterator[tuple[str, str]]:
    """Two jobs that have trained."""
    client, made = site_lab.cluster.client, {"base": [3.0, 1.5, 0.9], "warm": [2.0, 0.8]}
    for name, losses in made.items():
        job, status = a_trained_job(name, f"0.{len(losses)}", losses)
        client.create(JOBS, job)
        client.merge_patch(f"{JOBS}/{name}/status", {"status": status})
    yield ("base", "warm")
    for name in made:
        client.delete(f"{JOBS}/{name}")


def test_two_jobs_are_shown_side_by_side(page: Page, pair: tuple[str, str]) -> None:
    open_job(page, pair[0])
    page.click("a:text-is('Compare with…')")
    choice = page.get_by_label("Compare with…")
    expect(page.locator("#others option[value=warm]")).to_have_count(1)
    choice.fill(pair[1])
    choice.press("Enter")
    first, second = (page.locator("table.compared").nth(at) for at in (0, 1))
    expect(first).to_contain_text("loss, step 20")
    lines = [each.inner_text().split("\t") for each in first.locator("tr").all()]
    rows = {title.strip(): [each.strip() for each in cells] for title, *cells in lines}
    assert rows["loss, step 20"] == ["1.5", "0.8"]
    assert rows["loss, after 2m"] == ["0.9", "-"]
    expect(second).to_contain_text("RATE")
    expect(page.locator(".pictures polyline")).to_have_count(4)
    found = {}
    for width, colours in SIZES:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=colours, reduced_motion="reduce")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        found[colours] = violations(page)
        if folder := os.environ.get("PDJ_LOOK"):
            page.screenshot(path=f"{folder}/compare-{width}-{colours}.png", full_page=True)
    page.click("#language")
    expect(first).to_contain_text("第 20 步")
    assert not any(found.values()), found
    page.click(".back")
    expect(page.locator("h1")).to_have_text(pair[0])
