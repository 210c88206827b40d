"""How quickly the page of `kubectl pdj ui` draws and scrolls many jobs, beside a bare table."""

from collections.abc import Callable
from contextlib import closing

from playwright.sync_api import Browser, Page

from tests.cluster.ui.conftest import crowd_of, enter
from tests.live import patience
from tests.live.browser import served
from tests.live.lab import Lab
from tests.timings.pairs import assert_less

MANY = 1000
MOST_TIMES_DRAWN, MOST_TIMES_SCROLLED = 25, 10
NOTE_ROWS = """
const parse = JSON.parse;
JSON.parse = (text, ...more) => {
    if (text.includes('"first": true')) window.rowsCame = performance.now();
    return parse(text, ...more);
};
"""
AFTER_A_FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
DRAW_BARE = f"""async (many) => {{
    const cells = '<td>job</td><td>Running</td><td>1/1</td><td>a while</td>'.repeat(2);
    const before = performance.now();
    document.body.innerHTML = `<table>${{`<tr>${{cells}}</tr>`.repeat(many)}}</table>`;
    await {AFTER_A_FRAME};
    return performance.now() - before;
}}"""
SCROLL = """async () => {
    let longest = 0, before = performance.now();
    for (let at = 0; at < 20; at += 1) {
        window.scrollBy(0, 900);
        await new Promise(requestAnimationFrame);
        longest = Math.max(longest, performance.now() - before);
        before = performance.now();
    }
    window.scrollTo(0, 0);
    return longest;
}"""


def test_a_thousand_jobs_are_drawn_and_scrolled(
    chromium: Browser, kubeconfig: str, site_lab: Lab
) -> None:
    with (
        crowd_of(site_lab.cluster, MANY),
        served(kubeconfig, "-A") as site,
        closing(enter(chromium, site)) as user,
    ):
        tab, bare = user.new_page(), user.new_page()
        tab.add_init_script(NOTE_ROWS)
        assert_less(lambda: drawn_after(tab, site.base), asking(bare, DRAW_BARE), MOST_TIMES_DRAWN)
        assert_less(asking(tab, SCROLL), asking(bare, SCROLL), MOST_TIMES_SCROLLED)


def asking(tab: Page, script: str) -> Callable[[], float]:
    """Milliseconds that a script of the tab finds."""

    def ask() -> float:
        tab.bring_to_front()
        return float(tab.evaluate(script, MANY))

    return ask


def drawn_after(tab: Page, address: str) -> float:
    """Milliseconds from the moment when the page has all rows to the frame after their drawing.

    The page's own time: not the cluster's, not the command's.
    """
    tab.bring_to_front()
    tab.goto("about:blank")
    tab.goto(address)
    script = f"""async (many) => {{
        if (document.querySelectorAll('tbody tr').length < many) return 0;
        await {AFTER_A_FRAME};
        return performance.now() - rowsCame;
    }}"""
    found = tab.wait_for_function(script, arg=MANY, timeout=patience.SECONDS * 1000)
    return float(found.json_value())
