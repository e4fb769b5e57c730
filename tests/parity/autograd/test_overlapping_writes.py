"""Writes that read the memory they overwrite raise where PyTorch raises, and give its result elsewhere."""

from __future__ import annotations

import math
import warnings

import pytest
import torch

import undertow as ut

INDEX = [0, 1, 2]
WRITES = {
    "scatter_": lambda lib, to, i, source: to.scatter_(0, i, source),
    "scatter_add_": lambda lib, to, i, source: to.scatter_add_(0, i, source),
    "scatter_reduce_": lambda lib, to, i, source: to.scatter_reduce_(0, i, source, "prod"),
    "index_add_": lambda lib, to, i, source: to.index_add_(0, i, source),
    "index_copy_": lambda lib, to, i, source: to.index_copy_(0, i, source),
    "index_reduce_": lambda lib, to, i, source: to.index_reduce_(0, i, source, "amax"),
    "index_put_": lambda lib, to, i, source: to.index_put_((i,), source),
    "index_put_ that accumulates": lambda lib, to, i, source: to.index_put_((i,), source, accumulate=True),
    "put_": lambda lib, to, i, source: to.put_(i, source),
    "masked_scatter_": lambda lib, to, i, source: to.masked_scatter_(to > 0, source),
    "masked_fill_": lambda lib, to, i, source: to.masked_fill_(to > 0, source[0]),
    "copy_": lambda lib, to, i, source: to.copy_(source),
    "add_": lambda lib, to, i, source: to.add_(source),
}
SOURCES = {
    "itself": lambda x: (x[:3], x[:3]),
    "a part": lambda x: (x[:3], x[1:4]),
    "other elements": lambda x: (x[:3], x[3:6]),
    "a part with gaps": lambda x: (x[0:6:2], x[1:4]),
    "memory of its own": lambda x: (x[:3], x[3:6].clone()),
}


def outcome(lib, write, source):
    x = lib.arange(1.0, 7.0)
    to, values = SOURCES[source](x)
    try:
        with warnings.catch_warnings(action="ignore"):  # PyTorch's index_reduce says that it is new
            WRITES[write](lib, to, lib.tensor(INDEX), values)
    except Exception as e:
        return type(e).__name__, "refer to a single memory location" in str(e)
    return x.tolist()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_from_overlapping_memory_matches_torch(write, source):
    assert outcome(ut, write, source) == outcome(torch, write, source)


@pytest.mark.parametrize("write", ["scatter_", "index_fill_", "index_copy_"])
def test_an_index_in_the_written_memory_raises_as_in_torch(write):
    def run(lib):
        i = lib.arange(4)
        try:
            if write == "index_copy_":
                i.index_copy_(0, i, lib.ones(4, dtype=lib.int64))
            else:
                getattr(i, write)(0, i, 1)
        except Exception as e:
            return type(e).__name__
        return i.tolist()

    assert run(ut) == run(torch)


def test_a_tensor_copied_to_itself_may_be_expanded():
    for lib in (torch, ut):
        x = lib.ones(3).unsqueeze(1).expand(3, 2)
        assert x.copy_(x) is x
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            x.copy_(lib.zeros(3, 2))


def test_masked_fill_gives_row_major_results():
    for lib in (torch, ut):
        x = lib.rand(3, 4).t()
        assert x.masked_fill(x > 0.5, 1.0).stride() == (3, 1)
        assert lib.rand(2, 3, 4, 5).to(memory_format=lib.channels_last).masked_fill(lib.tensor(True), 1.0).is_contiguous()


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1), (2, 1, 3), (1, 3, 3)], ids=str)
@pytest.mark.parametrize("diagonal", [-1, 0, 1])
@pytest.mark.parametrize("name", ["tril_", "triu_"])
def test_a_triangle_of_an_expanded_tensor_matches_torch(name, diagonal, shape):
    def run(lib):
        memory = lib.arange(1.0, 10.0)[: math.prod(shape)].reshape(shape)
        return [getattr(memory.expand(2, 3, 3), name)(diagonal).tolist(), memory.tolist()]

    assert run(ut) == run(torch)
