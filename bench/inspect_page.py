"""python -m bench.inspect_page: how fast the page of undertow.inspect opens and steps, in Chromium, at 10 to 100,000 nodes. Prints; asserts nothing.

Targets at 100,000 nodes: under 3 s from opening the file to the first drawing, under 50 ms a step. "CPU" is the work of the page's main thread,
which other load on the machine changes little.
"""
from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/inspect/browser"))

import synthetic_recordings as synthetic  # noqa: E402
from opened_page import PAGE, launched  # noqa: E402

ROUNDS, STEPS = 3, 40
# A step is a key press, all panels, and the drawing of the graph in the next frame.
STEP = """async ([key, steps]) => {
    const times = [];
    for (let i = 0; i < steps; i++) {
        const start = performance.now();
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
        times.push(performance.now() - start);
    }
    return times;
}"""


def cpu(session) -> float:
    """Seconds that the page's main thread has worked."""
    return next(m["value"] for m in session.send("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration")


def measure(browser, file: Path) -> list[float]:
    """The columns of the table."""
    first, first_cpu = [], []
    for _ in range(ROUNDS):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-drawn]", state="attached", timeout=120_000)
        first.append(time.perf_counter() - start)
        first_cpu.append(cpu(session))
        if len(first) < ROUNDS:
            page.close()
    before = cpu(session)
    step = statistics.median(page.evaluate(STEP, ["ArrowRight", STEPS]))
    step_cpu = (cpu(session) - before) / STEPS * 1000
    page.keyboard.press("Shift+E")
    page.evaluate(STEP, ["ArrowRight", 2])
    before = cpu(session)
    opened = statistics.median(page.evaluate(STEP, ["ArrowRight", STEPS]))
    opened_cpu = (cpu(session) - before) / STEPS * 1000
    page.close()
    return [min(first), min(first_cpu), step, step_cpu, opened, opened_cpu]


def main() -> None:
    from playwright.sync_api import sync_playwright

    cases = {
        "small, 9 nodes": synthetic.small(),
        "transformer, 12 layers": synthetic.transformer(),
        "transformer, 500 layers": synthetic.transformer(layers=500),
        "loop, 100,000 nodes": synthetic.long_chain(100_000),
    }
    print(f"{'':<44}{'first drawing':>20}{'a step':>22}{'a step, all open':>22}")
    print(f"{'recording':<26}{'nodes':>9}{'events':>9}{'time':>12}{'CPU':>8}" + f"{'time':>13}{'CPU':>9}" * 2)
    with sync_playwright() as p, tempfile.TemporaryDirectory() as folder:
        browser = launched(p)
        if browser is None:
            sys.exit("bench.inspect_page: Chromium is not installed")
        for name, recording in cases.items():
            file = Path(folder) / "page.html"
            file.write_text(synthetic.page_with(recording, PAGE))
            nodes, events = (len(recording[table]["kind"]) for table in ("nodes", "events"))
            first, first_cpu, *steps = measure(browser, file)
            columns = "".join(f"{ms:>{width}.1f} ms" for ms, width in zip(steps, (10, 6) * 2))
            print(f"{name:<26}{nodes:>9,}{events:>9,}{first:>10.2f} s{first_cpu:>6.2f} s{columns}")
        browser.close()


if __name__ == "__main__":
    main()
