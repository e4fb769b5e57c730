"""python -m tools.docs.screenshots: the pictures of the inspector's page in docs/images, from real recordings.

Needs Chromium and Playwright (`pip install playwright`). Each picture is a recording and the state of the page that its link names.
"""
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import undertow as ut
from undertow import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/inspect/browser"))

from opened_page import launched  # noqa: E402

IMAGES = ROOT / "docs" / "images"


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: ut.Tensor) -> ut.Tensor:
        """Add attention, then the network of each position."""
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(x)


def training() -> ut.inspect.Recording:
    """Three steps of a small transformer."""
    ut.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, 16), Block(16), Block(16), nn.Linear(16, 20))
    optimizer = ut.optim.SGD(model.parameters(), lr=0.5)
    tokens = ut.randint(0, 20, (4, 12))
    with ut.inspect.record(forward=True, values=True) as r:
        for _ in range(3):
            loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return r


def not_a_number() -> ut.inspect.Recording:
    """The square root of zero, whose derivative is infinite, times zero."""
    ut.manual_seed(0)
    model, x = nn.Linear(3, 3), ut.tensor([[0.0, 1.0, 4.0]])
    with ut.inspect.record(forward=True, values=True) as r:
        (model(x).relu().sqrt() * 0).sum().backward()
    return r


# By file: the recording, the state of the page as its link names it, and what is clicked.
PICTURES = {
    "inspect.png": (training, "event=329&theme=light", ".engine .state-running li > button"),
    "inspect_gradients.png": (training, "event=329&tab=gradients&theme=light", ".engine .state-running li > button"),
    "inspect_memory.png": (training, "event=329&tab=memory&theme=light", ".engine .state-running li > button"),
    "inspect_nan.png": (not_a_number, "tab=gradients&theme=light", "text=First NaN or Inf"),
}


def main() -> int:
    """Write every picture."""
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    recordings: dict[object, Path] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        browser = launched(p)
        if browser is None:
            print("tools.docs.screenshots: Chromium is not installed", file=sys.stderr)
            return 1
        for name, (make, state, clicked) in PICTURES.items():
            if make not in recordings:
                recordings[make] = Path(folder) / f"{make.__name__}.html"
                recordings[make].write_text(make().to_html())
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(recordings[make].as_uri() + "#" + state)
            page.wait_for_selector("html[data-drawn]", state="attached")
            page.click(clicked)
            page.mouse.move(0, 0)
            page.wait_for_timeout(500)  # animations
            page.screenshot(path=IMAGES / name)
            page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
