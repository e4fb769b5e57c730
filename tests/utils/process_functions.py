"""Functions that other processes run in the multiprocessing tests, in a module that spawned processes can import."""

from __future__ import annotations

import os

import undertow as ut


def fill(tensor, value):
    tensor.fill_(value)


def fill_row(index, tensor):
    tensor[index] = index + 1


def fail_second(index):
    if index == 1:
        raise ValueError("of process one")
    import time

    time.sleep(1000)


def exit_with(index, code):
    os._exit(code)


def echo(receive, send):
    while (item := receive.get()) is not None:
        send.put(item)


def train(model, steps):
    optimizer = ut.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(ut.ones(1, 2)).sum().backward()
        optimizer.step()
