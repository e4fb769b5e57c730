"""The page at 100,000 nodes: the same as at ten."""
from __future__ import annotations

import pytest
import synthetic_recordings as synthetic
from synthetic_recordings import KINDS


@pytest.fixture(scope="module")
def large():
    recording = synthetic.long_chain(100_000)
    return recording, synthetic.packed(recording)


def test_a_hundred_thousand_nodes_are_drawn_stepped_through_searched_and_opened(open_page, large):
    recording, data = large
    opened = open_page(data)
    page = opened.page
    assert "99,998 nodes" in page.inner_text(".top")
    page.keyboard.press("End")
    assert opened.event == len(recording["events"]["kind"]) - 1 and opened.listed("waiting") == []
    started = [i for i, kind in enumerate(recording["events"]["kind"]) if kind == KINDS["started"]]
    opened.seek(started[50_000])
    assert opened.counted("running") == 1
    page.keyboard.press("Shift+ArrowRight")
    assert opened.event == started[50_001]
    page.keyboard.press("ArrowLeft")
    assert opened.event == started[50_001] - 1
    page.keyboard.press("/")
    page.keyboard.type("#77777")
    page.keyboard.press("Enter")
    assert page.inner_text(".node dd") == "77777"
    page.keyboard.press("Shift+E")
    page.keyboard.press("0")
    page.keyboard.press("ArrowRight")
    assert opened.event == started[50_001]
