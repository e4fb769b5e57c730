"""The DEBUG log of backward passes: a line for each node, under two logger names, with numbers that stay the same."""

from __future__ import annotations

import contextlib
import logging

import pytest

import undertow as ut

OURS, TORCHS = "undertow.autograd.graph", "torch.autograd.graph"


@pytest.fixture(autouse=True)
def _nothing_is_set_up():
    """A real torch, which other tests may have imported, sets up its loggers."""
    loggers = [logging.getLogger(name) for name in ("torch", "torch.autograd", TORCHS)]
    before = [(log, log.level, list(log.handlers), log.propagate) for log in loggers]
    for log in loggers:
        log.setLevel(logging.NOTSET)
        log.handlers.clear()
        log.propagate = True
    yield
    for log, level, handlers, propagates in before:
        log.setLevel(level)
        log.handlers[:], log.propagate = handlers, propagates


def leaf(*shape: int) -> ut.Tensor:
    return ut.ones(shape, requires_grad=True)


def test_the_engine_logs_each_node_at_debug(caplog):
    x = leaf(3)
    first, _ = (x * 2).split([1, 2])
    with caplog.at_level(logging.DEBUG, logger=OURS):
        (first * 1).sum().backward()
    lines = [r.getMessage() for r in caplog.records if r.name == OURS]
    assert [line.split("grad_outputs: ")[1].partition(" (")[0] for line in lines] == [
        "[f32[]]",
        "[f32[1]]",
        "[f32[1],None]",
        "[f32[3]]",
        "[f32[3]]",
    ]
    assert lines[0].startswith("Executing: <SumBackward0 object at ")
    assert lines[-1].startswith("Executing: <AccumulateGrad object at ")


@pytest.mark.parametrize(
    ("levels", "written_to"),
    [
        ({OURS: logging.DEBUG}, [OURS]),
        ({TORCHS: logging.DEBUG}, [TORCHS]),
        ({"torch": logging.DEBUG}, [TORCHS]),
        ({OURS: logging.DEBUG, TORCHS: logging.DEBUG}, [OURS, TORCHS]),
        ({"root": logging.DEBUG}, [OURS]),
        ({"root": logging.DEBUG, TORCHS: logging.DEBUG}, [TORCHS]),
        ({"root": logging.DEBUG, OURS: logging.INFO, TORCHS: logging.DEBUG}, [TORCHS]),
        ({"root": logging.DEBUG, OURS: logging.INFO, TORCHS: logging.INFO}, []),
        ({OURS: logging.INFO}, []),
        ({"root": logging.DEBUG, OURS: logging.INFO}, []),
    ],
)
def test_either_logger_switches_the_log_on_and_no_line_is_written_twice(caplog, levels, written_to):
    y = leaf(3).sum()
    with contextlib.ExitStack() as stack:
        for name, level in levels.items():
            stack.enter_context(caplog.at_level(level, logger=None if name == "root" else name))
        y.backward()
    assert [r.name for r in caplog.records] == written_to * 2  # two nodes


def test_a_handler_of_torchs_logger_gets_the_log_of_a_program_that_logs_everything(caplog):
    names = []
    handler = logging.Handler()
    handler.emit = lambda record: names.append(record.name)
    logging.getLogger(TORCHS).addHandler(handler)
    try:
        with caplog.at_level(logging.DEBUG):
            leaf(3).sum().backward()
    finally:
        logging.getLogger(TORCHS).removeHandler(handler)
    assert names == [TORCHS, TORCHS]
    assert len(caplog.records) == 2


def logged(caplog, y: ut.Tensor) -> list[str]:
    """The lines of one pass through the graph of y, which is kept."""
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger=OURS):
        y.backward(retain_graph=True)
    return [r.getMessage() for r in caplog.records]


def test_the_log_names_a_node_alike_in_every_pass(caplog):
    x, w = leaf(3), leaf(3)
    y = (x * w).exp().sum()
    first = logged(caplog, y)
    (w * 2).sum().backward()  # other nodes in between
    assert logged(caplog, y) == first
    assert len({line.partition(" with ")[0] for line in first}) == 5  # no two nodes have one address
    ends = [line.rpartition(" (")[2] for line in first]
    exp = y.grad_fn.next_functions[0][0]
    assert ends[:2] == [f"node {y.grad_fn._sequence_nr()})", f"node {exp._sequence_nr()})"]
    assert first[1].startswith(f"Executing: {exp} with ")
    assert len(set(ends[3:])) == 2
    assert all(end.startswith("leaf ") for end in ends[3:])


def test_the_log_numbers_leaves_for_as_long_as_they_live(caplog):
    x = leaf(3)
    one, other = logged(caplog, (x * 2).sum())[-1], logged(caplog, x.exp().sum())[-1]
    assert "AccumulateGrad" in one
    assert one == other


def test_the_log_has_the_lines_of_nodes_if_they_were_recorded(caplog):
    with ut.autograd.set_detect_anomaly(True):
        y = leaf(3).sum()
    first, last = logged(caplog, y)
    assert first.endswith(f"(node {y.grad_fn._sequence_nr()}, {y.grad_fn.line})")
    assert ":" not in last.rpartition(" (")[2]


def test_logging_hooks_are_gone_after_the_pass(caplog):
    y = (leaf(3) * 2).sum()
    with caplog.at_level(logging.DEBUG, logger=OURS):
        y.backward(retain_graph=True)
    caplog.clear()
    y.backward()
    assert not caplog.records


def test_logging_hooks_are_gone_after_an_error(caplog):
    x = leaf(3)
    y = x * 2

    def fail(grad):
        raise KeyError("hook")

    handle = y.register_hook(fail)
    with caplog.at_level(logging.DEBUG, logger=OURS), pytest.raises(KeyError):
        y.sum().backward()
    handle.remove()
    caplog.clear()
    y.sum().backward()
    assert not caplog.records


def test_the_passes_of_the_training_package_are_logged_too(caplog):
    w = ut.train.Variable(1.0, name="w")
    with caplog.at_level(logging.DEBUG, logger=OURS):
        ut.train.GradientDescentOptimizer(0.1).minimize(lambda: w.exp())
    assert [r.getMessage().split()[1] for r in caplog.records] == ["<ExpBackward0"]  # the leaf's gradient is captured


def test_logging_a_long_chain_does_not_recurse(caplog):
    y = leaf(1)
    for _ in range(5000):
        y = y + 1
    with caplog.at_level(logging.DEBUG, logger=OURS):
        y.backward()
    assert len(caplog.records) == 5001
