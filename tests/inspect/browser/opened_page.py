"""A page in Chromium that shows a recording, and how tests and the benchmark read and drive it."""
from __future__ import annotations

import shutil
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "undertow/inspect/page/page.html"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def launched(playwright):
    """Chromium, started: the system's, or the one that Playwright has downloaded; None if there is neither."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), playwright.chromium.executable_path)
    return playwright.chromium.launch(executable_path=program, args=FLAGS) if Path(program).exists() else None


class Opened:
    """A page that shows a recording, with everything it complained about."""

    def __init__(self, page):
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.complaints.append(str(e)))
        page.on("request", lambda r: self.requests.append(r.url))
        page.set_default_timeout(60_000)

    def wait_until_drawn(self):
        self.page.wait_for_selector("html[data-drawn]", state="attached")  # not wait_for_function: the page's policy forbids eval
        return self

    @property
    def event(self) -> int:
        return int(self.page.input_value(".slider"))

    def seek(self, event: int) -> None:
        self.page.eval_on_selector(".slider", "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", str(event))

    def listed(self, state: str) -> list[str]:
        """The nodes that the engine panel lists in a state."""
        return self.page.eval_on_selector_all(f".engine .state-{state} li > button", "buttons => buttons.map(b => b.textContent)")

    def walk(self, key: str, steps: int) -> list[dict[str, list[str]]]:
        """Presses a key several times; after each, the nodes that the engine panel lists in each state, sorted."""
        return self.page.evaluate("""([key, steps]) => Array.from({ length: steps }, () => {
            document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
            const names = (state) => [...document.querySelectorAll(`.engine .state-${state} li > button`)].map((b) => b.textContent).sort();
            return { running: names('running'), ready: names('ready'), waiting: names('waiting') };
        })""", [key, steps])

    def counted(self, state: str) -> int:
        return int(self.page.inner_text(f".engine .state-{state} .count").replace(",", ""))

    def address(self) -> dict[str, str]:
        """The parts of the page's fragment, once it has been written."""
        self.page.wait_for_timeout(400)  # it is written a little after the last change
        return dict(part.partition("=")[::2] for part in self.page.evaluate("location.hash").removeprefix("#").split("&"))
