"""Stepping through a pass: the controller alone, and through the server as a page does it."""

from __future__ import annotations

import http.client
import json
import threading

import pytest

import undertow as ut
from undertow import nn
from undertow.inspect import Stopped, _page, _server
from undertow.inspect._control import CommandError
from undertow.inspect._debug import Session
from undertow.inspect._tables import READY, STARTED


@pytest.fixture(autouse=True)
def small_page(monkeypatch):
    monkeypatch.setattr(_page, "template", lambda: "<html><!--UTRACE--></html>")


class Stepper:
    """Runs a pass in a thread of its own, so that the test is the person who steps."""

    def __init__(self, work, **options):
        self.session = Session(**options)
        self.controller = self.session.controller
        self.error: BaseException | None = None
        self.recording = None

        def run():
            try:
                self.recording = self.session.run(work)
            except BaseException as error:
                self.error = error

        self.thread = threading.Thread(target=run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        for _ in range(10_000):
            state = self.controller.state()
            if state["status"] != "paused":
                if not self.thread.is_alive() or state["status"] != "running":
                    break
                self.controller.wait(state["number"], 60.0)
                continue
            self.controller.command({"command": "continue"})
        self.thread.join(60.0)
        assert not self.thread.is_alive()

    def settled(self):
        """Return the state when the pass is paused or over."""
        state = self.controller.state()
        while state["status"] == "running":
            state = self.controller.wait(state["number"], 60.0)
        return state

    def do(self, command: str, **more):
        answer = self.controller.command({"command": command, **more})
        return self.settled() if command in ("step", "step_over", "run_to", "continue", "stop") else answer

    def at(self) -> str:
        return self.session.name(self.settled()["node"])


def chain():
    x = ut.tensor([1.0, 2.0, 3.0], requires_grad=True)
    return x, lambda: (x * 2).exp().sum().backward()


def test_a_pass_pauses_before_every_node_in_the_order_of_the_engine():
    x, work = chain()
    seen = []
    with Stepper(work) as s:
        assert s.settled()["reason"] == "start"
        while s.settled()["status"] == "paused":
            seen.append(s.at())
            s.do("step")
    assert seen == s.recording.order() == ["SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"]
    assert s.settled()["status"] == "finished"


def test_a_gradient_that_is_zeroed_changes_the_result():
    x, work = chain()
    with Stepper(work) as s:
        while s.at() != "ExpBackward0":
            s.do("step")
        state = s.do("set", slot=0, to="zero")["state"]
        assert state["gradients"][0]["changed"] and state["gradients"][0]["norm"] == 0
    assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"scale": 3.0}, [3.0, 3.0, 3.0]),
        ({"fill": 7.0}, [7.0, 7.0, 7.0]),
        ({"at": [1], "value": 9.0}, [1.0, 9.0, 1.0]),
        ("original", [1.0, 1.0, 1.0]),
    ],
)
def test_changes_of_a_gradient(change, expected):
    x = ut.ones(3, requires_grad=True)
    with Stepper(lambda: (x + 0).sum().backward()) as s:
        while s.at() != "AccumulateGrad":
            s.do("step")
        s.do("set", slot=0, to={"scale": 0.5})
        s.do("set", slot=0, to="original")
        s.do("set", slot=0, to=change)
    assert x.grad.tolist() == expected


def test_nan_can_be_removed_from_a_gradient():
    x = ut.zeros(2, requires_grad=True)
    with Stepper(lambda: (x.sqrt() * 0).sum().backward()) as s:
        s.do("break", on="nan")
        s.do("continue")
        assert s.at() == "AccumulateGrad" and s.settled()["reason"] == "breakpoint"
        s.do("set", slot=0, to={"remove_nan": 5.0})
    assert x.grad.tolist() == [5.0, 5.0]


def test_breakpoints_on_name_node_line_and_norm():
    x = ut.tensor([1.0, 2.0], requires_grad=True)

    def work():
        y = x * 3
        (y.exp() * 100).sum().backward()

    with Stepper(work) as s:
        s.do("break", on="name", value="ExpBackward0")
        s.do("continue")
        assert s.at() == "ExpBackward0" and s.settled()["breakpoint"] == 1
        s.do("unbreak", id=1)
        s.do("break", on="norm", value=1000.0)
        s.do("continue")
        assert s.at() == "MulBackward0" and s.settled()["gradients"][0]["norm"] > 1000
    with Stepper(work) as s:
        line = f"test_live.py:{work.__code__.co_firstlineno + 1}"
        s.do("break", on="line", value=line)
        s.do("continue")
        assert s.at() == "MulBackward0" and s.session.line(s.settled()["node"]).endswith(line)
        node = s.settled()["node"] + 1
    with Stepper(work) as s:
        s.do("run_to", node=node)
        assert s.settled()["node"] == node and s.settled()["reason"] == "node"


def test_step_over_leaves_the_module():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Tanh()), nn.Linear(2, 1))
    with Stepper(lambda: model(ut.rand(3, 2)).sum().backward()) as s:
        while s.session.module(s.settled()["node"]) != "0.1":
            s.do("step")
        s.do("step_over")
        assert s.session.module(s.settled()["node"]) == "0.0"


def test_the_leaves_of_a_module_belong_to_it_for_steps_and_breakpoints():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    with Stepper(lambda: model(ut.rand(3, 2)).sum().backward()) as s:
        while s.session.module(s.settled()["node"]) != "1":
            s.do("step")
        s.do("step_over")
        assert s.session.module(s.settled()["node"]) == "0" and s.at() == "AddmmBackward0"
        s.do("break", on="name", value="0.weight.grad")
        s.do("continue")
        assert s.at() == "AccumulateGrad" and s.session.parameter(s.settled()["node"]) == "0.weight"


def test_a_pass_that_runs_on_reads_the_trace_rarely_and_has_all_events_at_its_next_pause(monkeypatch):
    taken = []
    take = Session._take
    monkeypatch.setattr(Session, "_take", lambda self: (taken.append(1), take(self)))
    monkeypatch.setattr("undertow.inspect._debug._READ_EVERY", 1e9)
    x = ut.ones(2, requires_grad=True)

    def work():
        y = x
        for _ in range(300):
            y = y * 1.01
        y.exp().sum().backward()

    with Stepper(work) as s:
        s.do("break", on="name", value="AccumulateGrad")
        s.do("continue")
        events, norms = s.session.news(0)
        started = [i for i, (kind, _, _) in enumerate(events) if kind == STARTED]
        assert len(started) == 302 and events[-1][0] == READY and set(started) == set(norms)
        assert len(taken) < 10


def test_stop_ends_the_pass_with_an_error():
    x, work = chain()
    with Stepper(work) as s:
        s.do("step")
        assert s.do("stop")["status"] == "stopped"
    assert isinstance(s.error, Stopped) and x.grad is None


def test_an_error_in_the_pass_is_reported():
    x = ut.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with Stepper(lambda: y.sum().backward()) as s:
        state = s.do("continue")
        assert state["status"] == "failed" and "ZeroDivisionError" in state["error"]
    assert isinstance(s.error, ZeroDivisionError)


def test_a_reentrant_pass_is_stepped_through_too():
    class Inner(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with ut.enable_grad():
                ut.ones(1, requires_grad=True).sin().sum().backward()
            return grad * 2

    seen = []
    with Stepper(lambda: Inner.apply(ut.ones(2, requires_grad=True)).sum().backward()) as s:
        while s.settled()["status"] == "paused":
            seen.append((s.at(), s.settled()["pass"]))
            s.do("step")
    assert [p for n, p in seen] == [0, 0, 1, 1, 1, 0] and seen[3][0] == "SinBackward0"


def test_parts_of_a_gradient_can_be_read():
    x = ut.ones(2, 3, requires_grad=True)
    w = ut.tensor([[1.0, float("nan"), 3.0], [float("inf"), -float("inf"), 6.0]])
    with Stepper(lambda: (x * w).sum().backward()) as s:
        while s.at() != "AccumulateGrad":
            s.do("step")
        assert s.do("gradient", slot=0)["values"] == [[1.0, None, 3.0], ["inf", "-inf", 6.0]]
        assert s.do("gradient", slot=0, start=[1, 1], shape=[1, 1])["values"] == [["-inf"]]


@pytest.mark.parametrize(
    "request_",
    [
        {"command": "fly"},
        {"command": "__init__"},
        [],
        {"command": "break", "on": "colour"},
        {"command": "break", "on": "norm", "value": "much"},
        {"command": "break", "on": "norm", "value": True},
        {"command": "unbreak", "id": 12},
        {"command": "run_to"},
        {"command": "set", "slot": 9, "to": "zero"},
        {"command": "set", "slot": 0, "to": {"scale": "x"}},
        {"command": "set", "slot": 0, "to": {"at": [99], "value": 1.0}},
        {"command": "gradient", "slot": 0, "start": "x"},
    ],
)
def test_a_wrong_command_is_an_error_and_the_pass_stays_paused(request_):
    x, work = chain()
    with Stepper(work) as s:
        s.settled()
        s.do("run_to", node=1)
        with pytest.raises(CommandError):
            s.controller.command(request_)
        assert s.settled()["status"] == "paused"


def test_an_abandoned_pass_runs_to_its_end():
    gone = threading.Event()
    x, work = chain()
    with Stepper(work, is_abandoned=gone.is_set) as s:
        s.do("break", on="name", value="MulBackward0") if s.settled() else None
        gone.set()
        assert s.settled()["status"] in ("paused", "finished")
        s.thread.join(60.0)
    assert x.grad is not None and s.settled()["status"] == "finished"


# -- the server --------------------------------------------------------------------------------------------------------


class Page:
    """A client that speaks as the page does."""

    def __init__(self, server):
        self.server = server

    def ask(self, path, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        sent = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body), sent)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, json.loads(content) if "json" in answer.headers["Content-Type"] else content.decode()

    def get(self, name, **headers):
        return self.ask(f"/{self.server.token}/{name}", **headers)

    def command(self, **request):
        return self.ask(f"/{self.server.token}/command", "POST", request)


@pytest.fixture
def served():
    x, work = chain()
    with Stepper(work) as s:
        server = _server.LiveServer(s.session)
        try:
            yield s, server, Page(server), x
        finally:
            server.close()


def test_a_page_steps_edits_and_finishes_a_pass(served):
    s, server, page, x = served
    s.settled()
    answer, html = page.get("")
    assert answer.status == 200 and '<script type="application/json" id="live">{"protocol": 1}</script>' in html
    _, recording = page.get("recording")
    assert recording["format"] == "undertow-trace" and len(recording["nodes"]["kind"]) == 4
    _, found = page.get("poll?state=-1&event=0")
    assert found["state"]["status"] == "paused" and found["nodes"] == 4
    known = len(found["events"]["kind"])
    assert found["state"]["event"] == known - 1 and found["events"]["kind"][-1] == 2
    answer, reply = page.command(command="step")
    assert answer.status == 200 and reply["ok"]
    s.settled()
    _, found = page.get(f"poll?state=-1&event={known}")
    assert found["first"] == known and found["values"]["norm"]
    node = found["state"]["node"]
    page.command(command="set", slot=0, to={"scale": 2.0})
    page.command(command="continue")
    s.thread.join(60.0)
    assert x.grad[0].item() == pytest.approx(2 * 2 * 7.389056, rel=1e-5)
    _, found = page.get("poll?state=-1&event=0")
    assert found["state"]["status"] == "finished"
    values = s.recording.data["values"]
    assert values["norm"][values["node"].index(node)] == pytest.approx(2 * 3**0.5)  # as it was after the change


def test_a_poll_answers_when_the_state_changes(served):
    s, server, page, x = served
    number = s.settled()["number"]
    got = []
    poll = threading.Thread(target=lambda: got.append(page.get(f"poll?state={number}&event=0")))
    poll.start()
    s.do("step")
    poll.join(60.0)
    assert got and got[0][1]["state"]["number"] != number


def test_a_wrong_token_is_refused(served):
    *_, server, page, _ = served
    for path in ("/", "/wrong/", f"/{server.token}x/poll", f"/{server.token[:-1]}/recording", "//poll"):
        assert page.ask(path)[0].status == 403


def test_a_foreign_host_is_refused(served):
    *_, server, page, _ = served
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1.evil.example:{server.port}"):
        answer, reply = page.get("poll?state=-1", Host=host)
        assert answer.status == 403 and reply["error"] == "foreign Host"


def test_a_foreign_origin_is_refused(served):
    *_, server, page, _ = served
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{server.port}", "http://127.0.0.1:1"):
        assert page.ask(f"/{server.token}/command", "POST", {"command": "step"}, Origin=origin)[0].status == 403
    assert page.get("poll?state=-1", Origin=f"http://127.0.0.1:{server.port}")[0].status == 200


def test_a_request_that_the_browser_says_comes_from_another_site_is_refused(served):
    *_, server, page, _ = served
    assert page.get("poll?state=-1", Sec_Fetch_Site="cross-site")[0].status == 403


def test_a_command_needs_json_of_reasonable_size(served):
    *_, server, page, _ = served
    path = f"/{server.token}/command"
    assert page.ask(path, "POST", b'{"command": "step"}', Content_Type="text/plain")[0].status == 415
    assert page.ask(path, "POST", b"{")[0].status == 400
    assert page.ask(path, "POST", b"[" * 100_000)[0].status == 400
    assert page.ask(path, "POST", None, Content_Length="99999999")[0].status == 413
    assert page.get("poll?state=x")[0].status == 400
    assert page.get("elsewhere")[0].status == 404


def test_the_server_listens_on_loopback_only(served):
    *_, server, page, _ = served
    assert server._server.server_address[0] == "127.0.0.1"


def test_the_page_may_load_nothing_from_elsewhere(served):
    *_, server, page, _ = served
    policy = page.get("")[0].headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy


def test_a_page_that_closes_while_it_waits_is_no_error(served, capsys):
    *_, server, page, _ = served
    for error in (BrokenPipeError(), ConnectionResetError(), ValueError("a fault of ours")):
        try:
            raise error
        except Exception:
            server._server.handle_error(None, ("127.0.0.1", 1))
    said = capsys.readouterr().err
    assert "a fault of ours" in said and "BrokenPipe" not in said and "ConnectionReset" not in said


def test_a_page_that_says_bye_is_gone_after_a_while(served, monkeypatch):
    *_, server, page, _ = served
    assert not server.is_abandoned()  # nobody has come yet
    page.get("")
    page.ask(f"/{server.token}/bye", "POST", b"", Content_Type="text/plain")
    assert not server.is_abandoned()
    monkeypatch.setattr(_server, "GONE_AFTER_BYE", -1.0)
    assert server.is_abandoned()
    page.get("recording")  # another page takes over
    assert not server.is_abandoned()


def test_a_pass_of_another_thread_does_not_wait_for_the_session():
    x, y = ut.ones(2, requires_grad=True), ut.ones(2, requires_grad=True)
    session = Session()
    thread = threading.Thread(target=lambda: session.run(lambda: (x * 2).sum().backward()))
    thread.start()
    session.controller.wait(0, 10)
    assert session.controller.state()["status"] == "paused"
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3, 3] and x.grad is None
    session.controller.command({"command": "continue"})
    thread.join()
    assert x.grad.tolist() == [2, 2]
