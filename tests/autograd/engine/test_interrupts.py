"""Ctrl-C ends long work: a KeyboardInterrupt comes out of it, and afterwards everything can be used again.

The signal is sent while the work runs, from a thread of the same process. The work is so long that without the checks each
test would run into the limit of its process.
"""

import subprocess
import sys
import textwrap

import pytest

BEGIN = """
import os, signal, threading, time
import undertow as ut
signal.signal(signal.SIGINT, signal.default_int_handler)
ut.set_num_threads({threads})

def interrupted(work):
    begun = threading.Event()
    ended = []
    def send():  # until it is noticed: the first may come before the work begins
        begun.wait()
        while not ended:
            time.sleep(0.2)
            if not ended: os.kill(os.getpid(), signal.SIGINT)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        begun.set()
        work()
        return "finished"
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        while True:
            try:
                ended.append(True)
                sender.join()
                time.sleep(0.01)
                break
            except KeyboardInterrupt:
                pass
"""


def run(program: str, threads: int = 2) -> list[str]:
    code = BEGIN.format(threads=threads) + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_kernel_that_would_run_for_hours_is_interrupted(threads):
    # Expanded tensors: 2**45 elements, and no memory.
    program = """
    x = ut.ones(1).expand(2**45)
    for work in (x.sum, x.amax, x.norm, lambda: x.var()):
        print(interrupted(work))
    print(ut.ones(1000).sum().item())
    """
    assert run(program, threads) == ["interrupted"] * 4 + ["1000.0"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_long_backward_pass_is_interrupted_and_its_graph_can_be_used_again(workers):
    # The interrupted pass runs a graph of its own; each repetition of the work is one pass over 50,000 nodes.
    program = f"""
    ut.autograd.set_num_workers({workers})
    x = ut.ones(3, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y * 1.0
    y = y.sum()
    def passes():
        while True:
            # In one call of the engine each, so that Python has no chance of its own inside a pass.
            ut.autograd.grad(y, x, retain_graph=True)
    print(interrupted(passes))
    (g,) = ut.autograd.grad(y, x, retain_graph=True)
    print(g.tolist() == [1.0, 1.0, 1.0])
    x.grad = None
    y.backward()
    print(x.grad.tolist() == [1.0, 1.0, 1.0])
    """
    assert run(program) == ["interrupted", "True", "True"]


def test_a_signal_ends_the_pass_during_which_it_comes():
    # The first node asks for a signal soon. A pass that ends before it comes is repeated on a longer graph.
    program = """
    x = ut.ones(3, requires_grad=True)
    reached = []
    x.register_hook(lambda g: reached.append(1))
    class Sends(ut.autograd.Function):
        @staticmethod
        def forward(ctx, t): return t.clone()
        @staticmethod
        def backward(ctx, g):
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
            return g
    y, length = x, 50_000
    while True:
        for _ in range(length):
            y = y * 1.0
        length *= 2
        reached.clear()
        try:
            Sends.apply(y).backward(ut.ones(3), retain_graph=True)
            time.sleep(60)
        except KeyboardInterrupt:
            pass
        if not reached or length > 10_000_000: break
    print(len(reached))
    x.grad = None
    y.backward(ut.ones(3))
    print(len(reached), x.grad.tolist() == [1.0, 1.0, 1.0])
    """
    assert run(program) == ["0", "1", "True"]


def test_handlers_that_do_more_than_raise_wait_for_the_end_of_a_kernel():
    # Such a handler may call operators, which must not happen inside another one.
    program = """
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: seen.append(ut.rand(3).sort().values.shape))
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    x = ut.rand(500_000)
    while not seen:
        values = x.sort().values
    print(bool((values[1:] >= values[:-1]).all()), len(seen))
    """
    assert run(program) == ["True", "1"]
