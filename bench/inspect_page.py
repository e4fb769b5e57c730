"""python -m bench.inspect_page: how fast the page of undertow.inspect opens and steps, in Chromium, at 10 to 100,000 nodes. Prints; asserts nothing.

Targets at 100,000 nodes: under 3 s from opening the file to the first drawing, under 50 ms a step.
"""
from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/inspect/browser"))

import synthetic_recordings as synthetic  # noqa: E402
from opened_page import FLAGS, PAGE, chromium_program  # noqa: E402

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


def measure(browser, file: Path) -> tuple[float, float, float, float]:
    """Seconds to the first drawing; milliseconds of a step, of a step with every module open, and of a jump to the end."""
    first = []
    for _ in range(ROUNDS):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-drawn]", state="attached", timeout=120_000)
        first.append(time.perf_counter() - start)
        if len(first) < ROUNDS:
            page.close()
    step = statistics.median(page.evaluate(STEP, ["ArrowRight", STEPS]))
    jump = statistics.median(page.evaluate(STEP, ["End", 1]) + page.evaluate(STEP, ["Home", 1]))
    page.keyboard.press("Shift+E")
    page.evaluate(STEP, ["ArrowRight", 2])
    opened = statistics.median(page.evaluate(STEP, ["ArrowRight", STEPS]))
    page.close()
    return min(first), step, opened, jump


def main() -> None:
    from playwright.sync_api import sync_playwright

    cases = {
        "small, 9 nodes": synthetic.small(),
        "transformer, 12 layers": synthetic.transformer(),
        "transformer, 500 layers": synthetic.transformer(layers=500),
        "loop, 100,000 nodes": synthetic.long_chain(100_000),
    }
    print(f"{'recording':<26}{'nodes':>9}{'events':>9}{'first drawing':>15}{'step':>10}{'all open':>10}{'jump':>10}")
    with sync_playwright() as p, tempfile.TemporaryDirectory() as folder:
        browser = p.chromium.launch(executable_path=chromium_program(), args=FLAGS)
        for name, recording in cases.items():
            file = Path(folder) / "page.html"
            file.write_text(synthetic.page_with(recording, PAGE))
            nodes, events = (len(recording[table]["kind"]) for table in ("nodes", "events"))
            first, step, opened, jump = measure(browser, file)
            print(f"{name:<26}{nodes:>9,}{events:>9,}{first:>13.2f} s{step:>7.1f} ms{opened:>7.1f} ms{jump:>7.1f} ms")
        browser.close()


if __name__ == "__main__":
    main()
