"""Result dtypes compared with torch: every pair of dtypes, in each of the three categories of operand."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128")
NUMBERS = (True, 2, 2.5, 1 + 2j)
BINARY = ("add", "sub", "mul", "div", "pow", "atan2", "maximum", "minimum", "fmod", "remainder", "floor_divide", "eq", "lt", "ne",
          "logical_and", "bitwise_and", "hypot", "copysign", "xlogy", "logaddexp")
NUMBER_FIRST = ("pow", "float_power", "remainder", "floor_divide", "xlogy", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
                "bitwise_right_shift")
UNARY = ("neg", "exp", "abs", "sqrt", "sin", "reciprocal", "isnan", "sign", "floor", "square", "angle", "logical_not", "bitwise_not",
         "sum", "mean", "prod", "amax", "argmax", "any", "var", "cumsum", "sigmoid", "erf", "conj", "positive", "signbit", "log1p")


def made(library, name: str, shape: tuple[int, ...]):
    return library.ones(shape, dtype=getattr(library, name))


def outcome(function, *args) -> str:
    """The dtype of the result, or "error"."""
    try:
        result = function(*args)
    except (RuntimeError, NotImplementedError, TypeError):
        return "error"
    return str(result.dtype).rpartition(".")[2]


def torchs(function, a: str, shape: tuple[int, ...], other) -> str:
    """torch's outcome for a tensor of dtype a and another operand, a number or (dtype, shape)."""
    def operand(name: str, shape: tuple[int, ...]):
        return made(torch, name, shape)

    return outcome(function, operand(a, shape), operand(*other) if isinstance(other, tuple) else other)


def both(name: str):
    theirs, ours = getattr(torch, name), getattr(ut, name, None)
    if ours is None:
        pytest.skip(f"undertow has no {name}")
    return theirs, ours


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())], ids=["dim-dim", "dim-zero", "zero-dim", "zero-zero"])
def test_two_tensors(name: str, shapes):
    theirs, ours = both(name)
    wrong = []
    for a, b in itertools.product(NAMES, NAMES):
        want = torchs(theirs, a, shapes[0], (b, shapes[1]))
        got = outcome(ours, made(ut, a, shapes[0]), made(ut, b, shapes[1]))
        if want != got:
            wrong.append(f"{a}, {b}: torch {want}, here {got}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shape", [(2,), ()], ids=["dim", "zero"])
def test_a_tensor_and_a_number(name: str, shape):
    theirs, ours = both(name)
    wrong = []
    for a, number in itertools.product(NAMES, NUMBERS):
        want, got = torchs(theirs, a, shape, number), outcome(ours, made(ut, a, shape), number)
        if want != got:
            wrong.append(f"{a}, {number!r}: torch {want}, here {got}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", NUMBER_FIRST)
@pytest.mark.parametrize("shape", [(2,), ()], ids=["dim", "zero"])
def test_a_number_and_a_tensor(name: str, shape):
    theirs, ours = both(name)
    wrong = []
    for a, number in itertools.product((n for n in NAMES if n != "complex32"), NUMBERS):
        want = torchs(lambda x, y, f=theirs: f(y, x), a, shape, number)
        got = outcome(ours, number, made(ut, a, shape))
        if want != got:
            wrong.append(f"{number!r}, {a}: torch {want}, here {got}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", UNARY)
def test_one_tensor(name: str):
    theirs, ours = both(name)
    extra = (0,) if name == "cumsum" else ()
    wrong = []
    for a in NAMES:
        want, got = outcome(theirs, made(torch, a, (2,)), *extra), outcome(ours, made(ut, a, (2,)), *extra)
        if want != got:
            wrong.append(f"{a}: torch {want}, here {got}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("name", ["add_", "mul_", "div_", "pow_", "copy_", "sub_"])
def test_writing_in_place(name: str):
    if not hasattr(ut.Tensor, name):
        pytest.skip(f"undertow has no {name}")
    wrong = []
    for a, b in itertools.product(NAMES, NAMES):
        results = []
        for library in (torch, ut):
            x, y = made(library, a, (2,)), made(library, b, (2,))
            results.append(outcome(getattr(x, name), y))
        if results[0] != results[1]:
            wrong.append(f"{a}, {b}: torch {results[0]}, here {results[1]}")
    assert not wrong, "\n".join(wrong)


def test_result_type_can_cast_and_promote_types():
    if not hasattr(ut, "result_type"):
        pytest.skip("undertow has no result_type")
    for a, b in itertools.product(NAMES, NAMES):
        ta, tb, ua, ub = getattr(torch, a), getattr(torch, b), getattr(ut, a), getattr(ut, b)
        want = str(torch.promote_types(ta, tb)).rpartition(".")[2]
        assert want == str(ut.promote_types(ua, ub)).rpartition(".")[2]
        assert torch.can_cast(ta, tb) == ut.can_cast(ua, ub)
        want = str(torch.result_type(made(torch, a, (2,)), made(torch, b, ()))).rpartition(".")[2]
        assert want == str(ut.result_type(made(ut, a, (2,)), made(ut, b, ()))).rpartition(".")[2]
