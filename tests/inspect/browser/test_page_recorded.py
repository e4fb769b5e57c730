"""The page with real recordings, and the live page with the real server and a real pass behind it."""
from __future__ import annotations

import threading

import pytest
from opened_page import Opened

import undertow as ut
from undertow import nn
from undertow.inspect import _server, record
from undertow.inspect._debug import Session
from undertow.inspect._server import LiveServer
from undertow.inspect._show import inline


def doubled(grad):
    return grad * 2


def outline(opened: Opened) -> list[str]:
    opened.page.click("[role=tab] >> text=Outline")
    return [text.replace("\n", " ") for text in opened.page.locator("[role=treeitem]").all_inner_texts()]


def select(opened: Opened, name: str) -> None:
    opened.page.fill("[type=search]", name)
    opened.page.press("[type=search]", "Enter")


def test_a_module_that_is_called_in_a_loop_has_a_group_for_each_call(open_page):
    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(2, 3)

        def forward(self, x):
            h = ut.zeros(1, 3)
            for step in range(3):
                h = self.cell(x[:, step], h)
            return h

    with record() as r:
        Loop()(ut.rand(1, 3, 2)).sum().backward()
    opened = open_page(r.data)
    opened.page.keyboard.press("Shift+E")
    shown = outline(opened)
    assert [line.split()[1:3] for line in shown if "Call" in line] == [["Call", "3"], ["Call", "2"], ["Call", "1"]]
    select(opened, "SigmoidBackward0")  # the first one that runs
    assert "cell, call 3" in opened.page.inner_text(".node .facts")


def test_the_details_of_a_node_name_its_hooks_and_their_lines(open_page):
    x = ut.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(doubled)
    with record() as r:
        y.sum().backward()
    opened = open_page(r.data)
    select(opened, "MulBackward0")
    said = opened.page.inner_text(".node section:has(h3:text-is('Hooks'))")
    assert "doubled" in said and f"tensor hook · test_page_recorded.py:{doubled.__code__.co_firstlineno}" in said


def test_graphs_that_are_still_held_are_among_the_findings(open_page, tmp_path):
    x = ut.ones(1000, requires_grad=True)
    with record() as r:
        kept = x.exp().sum()
        x.sum().backward()
    opened = open_page({**r.data, "notes": r.explain().notes}, "#tab=notes")
    assert "kept (in test_graphs_that_are_still_held_are_among_the_findings" in opened.page.inner_text(".bottom") and kept is not None


def test_a_recording_without_a_pass_says_so(open_page):
    with record() as r:
        ut.ones(2) * 2
    opened = open_page(r.data)
    assert "No backward pass was recorded." in opened.page.inner_text(".graph")


@pytest.fixture
def session(chromium):
    """A pass that waits for its page: the leaf, the session, the page and the thread."""
    x = ut.tensor([1.0, 2.0, 3.0], requires_grad=True)
    server = None
    held = Session(is_abandoned=lambda: server is not None and server.is_abandoned())
    server = LiveServer(held)
    thread = threading.Thread(target=lambda: held.run(lambda: (x * 2).exp().sum().backward()))
    thread.start()
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    opened = Opened(context.new_page())
    opened.page.goto(server.url)
    opened.wait_until_drawn()
    opened.page.wait_for_selector("[data-command=step]:enabled")
    yield x, held, opened, thread
    # A page that asks for a gradient while the pass goes on is refused, and Chromium logs that.
    complaints = [text for text in opened.complaints if "400 (Bad Request)" not in text]
    held.controller.is_abandoned = lambda: True  # whatever a test left paused
    thread.join(60.0)
    context.close()
    server.close()
    assert not thread.is_alive() and complaints == []


def test_a_gradient_edited_in_the_page_reaches_grad(session):
    x, held, opened, thread = session
    opened.page.click("[data-command=step]")
    opened.page.wait_for_selector(".live .status >> text=ExpBackward0 is about to run")
    opened.page.click(".values td >> nth=1")
    opened.page.fill(".cell-input", "10")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector("text=changed")
    opened.page.click("[data-command=continue]")
    opened.page.wait_for_selector(".live .status >> text=The pass has finished")
    thread.join(60.0)
    expected = [2 * 7.3890561, 10 * 2 * 54.598150, 2 * 403.428793]
    assert x.grad.tolist() == pytest.approx(expected, rel=1e-5)


def test_a_breakpoint_on_a_norm_pauses_the_real_pass_and_stop_ends_it(session):
    x, held, opened, thread = session
    opened.page.select_option(".break-form select", "norm")
    opened.page.fill(".break-form input", "100")
    opened.page.click(".break-form button")
    opened.page.wait_for_selector(".live-points .chip")
    opened.page.click("[data-command=continue]")
    opened.page.wait_for_selector(".live .status >> text=MulBackward0 is about to run")
    assert held.controller.state()["gradients"][0]["norm"] > 100 and x.grad is None


def test_closing_the_page_lets_the_real_pass_finish(session, monkeypatch):
    x, held, opened, thread = session
    monkeypatch.setattr(_server, "GONE_AFTER_BYE", 0.0)
    opened.page.close(run_before_unload=True)
    thread.join(60.0)
    assert x.grad is not None and held.controller.state()["status"] == "finished"


def test_a_page_in_the_frame_of_a_notebook_works(chromium, tmp_path):
    with record() as r:
        (ut.rand(2, requires_grad=True) * 2).sum().backward()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><meta charset=utf-8><body>{inline(r.to_html())}", encoding="utf-8")
    opened = Opened(chromium.new_page(viewport={"width": 1000, "height": 800}))
    opened.page.goto(notebook.as_uri())
    frame = opened.page.frame_locator("iframe")
    frame.locator("html[data-drawn]").wait_for(state="attached")
    frame.locator("[title^='Next node']").click()
    assert frame.locator(".engine .state-running li > button").all_inner_texts() == ["SumBackward0"]
    opened.page.wait_for_timeout(500)  # the address would be written now
    assert opened.complaints == []
    opened.page.close()
