"""A process that has run backward passes may fork, and backward works in both processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork on this platform")

PREFIX = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import undertow as ut

def work(n=30):
    x = ut.ones(200_000, requires_grad=True)
    y = x
    for _ in range(n):
        y = y * 1.0 + 0.0
    y.sum().backward()
    return x.grad.sum().item()

def in_child(fn):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            fn()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
"""


def run(body: str) -> None:
    code = PREFIX + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_backward_in_a_child_after_backward_in_the_parent():
    run("""
    ut.set_num_threads(2)
    want = work()
    def child():
        assert work() == want
    in_child(child)
    assert work() == want
    """)


def test_a_graph_made_before_the_fork_is_differentiated_in_both_processes():
    run("""
    x = ut.tensor(3.0, requires_grad=True)
    y = x * x
    def child():
        y.backward()
        assert x.grad.item() == 6.0
    in_child(child)
    y.backward()
    assert x.grad.item() == 6.0
    """)


def test_forks_of_forks():
    run("""
    work()
    def child():
        work()
        in_child(work)
    in_child(child)
    work()
    """)


def test_a_fork_from_another_thread():
    run("""
    work()
    errors = []
    def thread():
        try:
            in_child(work)
        except BaseException as e:
            errors.append(e)
    t = threading.Thread(target=thread)
    t.start(); t.join()
    assert not errors, errors
    """)


def test_a_fork_inside_a_hook():
    run("""
    x = ut.tensor(2.0, requires_grad=True)
    y = x * 3
    def hook(g):
        with ut.enable_grad():
            in_child(work)
    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 3.0
    """)


def test_many_children():
    run("""
    work()
    for _ in range(10):
        in_child(lambda: work(3))
    """)
