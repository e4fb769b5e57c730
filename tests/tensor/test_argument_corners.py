"""What constructors, settings and arguments accept and refuse, compared with torch."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import undertow as ut

CONSTRUCTORS = {
    "a size by name": lambda L: L.Tensor(size=(2, 3)).shape,
    "new with a size by name": lambda L: L.ones(1, dtype=L.int32).new(size=(3, 4)).shape,
    "data by name": lambda L: L.Tensor(data=[2.0, 3.0]),
    "new with data by name": lambda L: L.ones(1, dtype=L.float64).new(data=[2.0]),
    "another tensor by name": lambda L: L.Tensor(other=L.ones(2)),
    "a device": lambda L: L.ones(1).new([1.0], device="cpu"),
    "another device": lambda L: L.Tensor(2, device="meta"),
    "an unknown name": lambda L: L.ones(1).new(foo=3),
    "sizes twice": lambda L: L.Tensor(2, size=(3,)),
}


@pytest.mark.parametrize("case", CONSTRUCTORS)
def test_the_oldest_constructors_take_names(case, same_as_torch):
    same_as_torch(CONSTRUCTORS[case], characters=40)


FLOATS = {
    "isclose": lambda L, x: L.isclose(L.ones(2), L.ones(2), 1e-3, x),
    "layer_norm": lambda L, x: L.nn.functional.layer_norm(L.ones(2), (2,), eps=x),
    "quantile": lambda L, x: L.quantile(L.ones(2), x).requires_grad,
}


@pytest.mark.parametrize("case", FLOATS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_tensor_that_requires_grad_is_no_float(case, requires_grad, same_as_torch):
    same_as_torch(lambda L: FLOATS[case](L, L.tensor(0.5, requires_grad=requires_grad)))


DEVICES = {
    "a negative number": lambda L: L.device(-1),
    "two indices": lambda L: L.device("cuda:1", 1),
    "a leading zero": lambda L: L.device("cuda:01"),
    "index zero": lambda L: L.device("cuda:0").index,
    "a device": lambda L: str(L.device(L.device("cpu"))),
}


@pytest.mark.parametrize("case", DEVICES)
def test_devices_are_parsed_as_in_torch(case, same_as_torch):
    same_as_torch(DEVICES[case], whole_messages=True)


def test_the_two_settings_of_determinism_are_stored_one_by_one(same_as_torch):
    def scenario(L):
        seen = []
        for mode, warn_only in ((True, True), (False, True), (True, False), (False, False)):
            L.use_deterministic_algorithms(mode, warn_only=warn_only)
            seen.append([L.are_deterministic_algorithms_enabled(), L.is_deterministic_algorithms_warn_only_enabled(), L.get_deterministic_debug_mode()])
        return seen

    same_as_torch(scenario)


@pytest.mark.parametrize("arguments", [{"mode": 1}, {"mode": False, "warn_only": 1}], ids=str)
def test_the_settings_of_determinism_are_bools(arguments, same_as_torch):
    same_as_torch(lambda L: L.use_deterministic_algorithms(**arguments), whole_messages=True)


@pytest.mark.parametrize("n", [0, -1, 2**65])
def test_numbers_of_threads_that_are_out_of_range_raise(n, same_as_torch):
    same_as_torch(lambda L: L.set_num_interop_threads(n))


def test_a_class_that_is_no_tensor_raises(same_as_torch):
    same_as_torch(lambda L: L.ones(1).as_subclass(int))


def test_a_number_without_memory_is_formatted_as_a_tensor(same_as_torch):
    same_as_torch(lambda L: format(L.empty((), device="meta")))


def test_the_size_of_a_storage_counts_its_bytes():
    empty, ten = (sys.getsizeof(ut.zeros(n).storage()) for n in (0, 10))
    assert ten - empty == 40


def test_an_index_into_nothing_raises(same_as_torch):
    for position in ((slice(None), [0, 0]), ([0], [0])):
        same_as_torch(lambda L, at=position: L.zeros(10, 0)[at])


STRICT = ["tril", "triu", "diag", "nonzero"]


@pytest.mark.parametrize("name", STRICT)
@pytest.mark.parametrize("out", ["float32", "float64", "complex64", "int64"])
def test_results_of_these_operators_are_not_cast_to_another_dtype(name, out, same_as_torch):
    def scenario(L):
        try:
            return getattr(L, name)(L.tensor([[1.5, -2.0], [0.0, 3.25]]), out=L.empty(0, dtype=getattr(L, out)))
        except RuntimeError:
            return "raises"

    same_as_torch(scenario)


RANGES = {
    "arange": lambda L, out: L.arange(4, out=out),
    "arange with a start": lambda L, out: L.arange(1, 5, out=out),
    "linspace": lambda L, out: L.linspace(0, 3, 4, out=out),
    "linspace of tensors": lambda L, out: L.linspace(L.tensor(0.0), L.tensor(3.0), 4, out=out),
    "logspace": lambda L, out: L.logspace(0, 3, 4, out=out),
}


@pytest.mark.parametrize("case", RANGES)
def test_a_range_fills_a_tensor_of_as_many_elements_in_its_own_shape(case, same_as_torch):
    def scenario(L):
        whole = L.zeros(2, 3)
        part = RANGES[case](L, whole.narrow(1, 1, 2))
        return [whole, part, RANGES[case](L, L.zeros(4)), RANGES[case](L, L.empty(0))]

    same_as_torch(scenario)


CREATION = {
    "a permutation of all bytes": lambda L: L.randperm(256, dtype=L.uint8).sort().values.sum(),
    "a permutation of more than all bytes": lambda L: L.randperm(257, dtype=L.uint8),
    "nothing joined along any dimension": lambda L: [L.cat([L.empty(0), L.empty(0)], d).shape for d in (1, 3, -2)],
    "no columns of powers": lambda L: [L.vander(L.ones(n), 0).shape for n in (0, 2)],
    "one column of powers": lambda L: L.vander(L.tensor([2.0, 3.0]), 1),
    "powers of bools": lambda L: L.vander(L.tensor([True, False]), 3),
    "a negative number of powers": lambda L: L.vander(L.ones(2), -1),
    "a grid on two devices": lambda L: L.meshgrid(L.ones(2), L.ones(2, device="meta"), indexing="ij"),
    "a grid of two dtypes": lambda L: L.meshgrid(L.ones(2), L.ones(2, dtype=L.int64), indexing="ij"),
    "an alias of a NumPy number": lambda L: L.asarray(np.float32(1.5), copy=False),
    "an alias of a capsule": lambda L: L.asarray(L.utils.dlpack.to_dlpack(L.ones(2)), copy=False),
    "the complex number of nothing": lambda L: complex(L.tensor([])),
    "the complex number of two": lambda L: complex(L.tensor([1.0, 2.0])),
}


@pytest.mark.parametrize("case", CREATION)
def test_corners_of_creation_match_torch(case, same_as_torch):
    same_as_torch(CREATION[case], characters=50)


def test_the_gradient_of_nothing_is_nothing():
    parts = [ut.empty(0, requires_grad=True) for _ in range(2)]
    ut.cat(parts, 1).sum().backward()
    assert [p.grad.shape for p in parts] == [(0,), (0,)]


@pytest.mark.parametrize(
    "call", [lambda a: ut.rand(a), lambda a: ut.ones(1).reshape(a), lambda a: ut.ones(1).expand(a), lambda a: ut.nn.functional.pad(ut.ones(1), a)]
)
@pytest.mark.parametrize("sizes", [("a",), ["a"], ("a", 1), (1, "a"), "a"], ids=str)
def test_a_string_among_sizes_is_named(call, sizes):
    with pytest.raises(TypeError, match="str"):
        call(sizes)


def test_one_size_for_unravel_index():
    assert ut.unravel_index(ut.tensor([2]), 3)[0].tolist() == [2]
