"""The live page, against a server that speaks the protocol and writes down what it is told: what a click sends, what a state shows."""
from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
import synthetic_recordings as synthetic
from opened_page import PAGE, Opened
from synthetic_recordings import KINDS


def part(table: dict, first: int, last: int) -> dict:
    return {key: column[first:last] for key, column in table.items()}


class PausedPass:
    """A recorded pass that is let go node by node, as the real server does with a running one."""

    def __init__(self):
        self.whole = synthetic.small(values=True)
        self.stops = [i for i, kind in enumerate(self.whole["events"]["kind"]) if kind == KINDS["started"]]
        self.stop = 0  # which of them comes next
        self.commands: list[dict] = []
        self.byes = 0
        self.breakpoints: list[dict] = []
        self.changed = False
        self.number = 1
        self.news = threading.Condition()  # guards the fields above

    @property
    def length(self) -> int:
        return self.stops[self.stop] if self.stop < len(self.stops) else len(self.whole["events"]["kind"])

    def state(self) -> dict:
        over = self.stop >= len(self.stops)
        node = None if over else self.whole["events"]["node"][self.stops[self.stop]]
        gradient = {"slot": 0, "shape": [2, 3], "dtype": "float32", "norm": 0.0 if self.changed else 2.5, "min": 0, "max": 1, "mean": 0.5, "zeros": 6 * self.changed, "nan": 0, "inf": 0,
                    "size": 6, "histogram": None, "changed": self.changed}
        return {"number": self.number, "status": "finished" if over else "paused", "node": node, "pass": 0, "event": self.length - 1, "reason": "step" if self.stop else "start", "breakpoint": None, "error": None,
                "gradients": [] if over else [gradient], "breakpoints": self.breakpoints}

    def recording(self) -> dict:
        values = self.whole["values"]
        rows = sum(event < self.length for event in values["event"])
        return {**self.whole, "events": part(self.whole["events"], 0, self.length), "values": part(values, 0, rows)}

    def poll(self, number: int, first: int) -> dict:
        with self.news:
            self.news.wait_for(lambda: self.number != number, timeout=5)
            values = self.whole["values"]
            rows = [i for i, event in enumerate(values["event"]) if first <= event < self.length]
            return {"state": self.state(), "nodes": len(self.whole["nodes"]["kind"]), "events": part(self.whole["events"], first, self.length), "first": first,
                    "values": part(values, rows[0], rows[-1] + 1) if rows else {}}

    def command(self, body: dict) -> dict:
        with self.news:
            self.commands.append(body)
            name = body["command"]
            if name in ("step", "step_over"):
                self.stop, self.changed = self.stop + 1, False
            elif name == "run_to":
                self.stop = next(i for i, event in enumerate(self.stops) if self.whole["events"]["node"][event] == body["node"])
            elif name == "continue":
                self.stop = len(self.stops)
            elif name == "break":
                self.breakpoints = [*self.breakpoints, {"id": 1, "on": body["on"], "value": body["value"]}]
            elif name == "unbreak":
                self.breakpoints = []
            elif name == "set":
                self.changed = True
            self.number += name != "gradient"
            self.news.notify_all()
            return {"ok": True, "state": self.state(), **({"values": [[0.25, None, "inf"], [1, 2, 3]]} if name == "gradient" else {})}


@pytest.fixture
def live(chromium):
    """The paused pass, and the page that controls it."""
    paused = PausedPass()

    class Handler(BaseHTTPRequestHandler):
        def answer(self, data: bytes, kind: str = "application/json"):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            address = urlsplit(self.path)
            asked = parse_qs(address.query)
            if address.path == "/token/":
                self.answer(PAGE.read_text().replace("<!--UTRACE-->", '<script type="application/json" id="live">{"protocol": 1}</script>').encode(), "text/html; charset=utf-8")
            elif address.path == "/token/recording":
                self.answer(json.dumps(paused.recording()).encode())
            else:
                self.answer(json.dumps(paused.poll(int(asked["state"][0]), int(asked["event"][0]))).encode())

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/token/bye":
                with paused.news:
                    paused.byes += 1
                    paused.news.notify_all()
                self.answer(b"{}")
            else:
                assert self.headers["Content-Type"] == "application/json"
                self.answer(json.dumps(paused.command(json.loads(body))).encode())

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    opened = Opened(context.new_page())
    opened.page.goto(f"http://127.0.0.1:{server.server_port}/token/")
    opened.wait_until_drawn()
    opened.page.wait_for_selector("[data-command=step]:enabled")
    yield paused, opened
    context.close()
    with paused.news:
        paused.number += 1  # lets a waiting poll go
        paused.news.notify_all()
    server.shutdown()
    server.server_close()
    assert opened.complaints == []


def wait_for_status(opened, text: str) -> None:
    opened.page.wait_for_selector(f".live .status >> text={text}")


def test_a_step_runs_one_node_and_shows_the_next(live):
    paused, opened = live
    wait_for_status(opened, "MeanBackward0 is about to run")
    for name in ("PowBackward0", "MulBackward0"):
        opened.page.click("[data-command=step]")
        wait_for_status(opened, f"{name} is about to run")
        assert name in opened.page.inner_text(".node h2")
    assert [c for c in paused.commands if c["command"] != "gradient"] == [{"command": "step"}] * 2
    assert opened.event == paused.length - 1 and opened.listed("ready") == ["MulBackward0"]


@pytest.mark.parametrize("step, go_on", [("F10", "F8"), ("s", "c")], ids=["debuggers", "terminal"])
def test_keys_step_and_continue_to_the_end(live, step, go_on):
    paused, opened = live
    opened.page.keyboard.press(step)
    wait_for_status(opened, "PowBackward0 is about to run")
    opened.page.keyboard.press(go_on)
    wait_for_status(opened, "The pass has finished")
    opened.page.wait_for_selector("[data-command=step]:disabled")
    assert opened.event == len(paused.whole["events"]["kind"]) - 1


def test_the_pass_runs_to_the_selected_node(live):
    paused, opened = live
    opened.page.fill("[type=search]", "Tanh")
    opened.page.press("[type=search]", "Enter")
    opened.page.click("[data-command=run_to]")
    wait_for_status(opened, "TanhBackward0 is about to run")
    assert {"command": "run_to", "node": 4} in paused.commands


@pytest.mark.parametrize("on, text, value", [("name", "MulBackward0", "MulBackward0"), ("line", "train.py:8", "train.py:8"), ("norm", "100", 100), ("nan", None, None)])
def test_breakpoints_are_added_and_removed(live, on, text, value):
    paused, opened = live
    opened.page.select_option(".break-form select", on)
    if text is not None:
        opened.page.fill(".break-form input", text)
    opened.page.click(".break-form button")
    opened.page.wait_for_selector(".live-points .chip")
    assert {"command": "break", "on": on, "value": value} in paused.commands
    opened.page.click(".live-points button")
    opened.page.wait_for_selector(".live-points .chip", state="detached")
    assert {"command": "unbreak", "id": 1} in paused.commands


def test_a_gradient_is_shown_and_changed(live):
    paused, opened = live
    opened.page.wait_for_selector(".values td")
    assert opened.page.locator(".values td").all_inner_texts() == ["0.25", "NaN", "Inf", "1", "2", "3"]
    opened.page.click(".values td >> nth=3")
    opened.page.fill(".cell-input", "7.5")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector("text=changed")
    opened.page.click("text=Set to zero")
    opened.page.wait_for_selector("text=6 of 6 zero")
    sets = [c for c in paused.commands if c["command"] == "set"]
    assert sets == [{"command": "set", "slot": 0, "to": {"at": [1, 0], "value": 7.5}}, {"command": "set", "slot": 0, "to": "zero"}]


def test_closing_the_page_says_goodbye(live):
    paused, opened = live
    opened.page.close(run_before_unload=True)
    with paused.news:
        assert paused.news.wait_for(lambda: paused.byes == 1, timeout=30)
