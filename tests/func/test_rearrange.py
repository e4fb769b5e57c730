"""rearrange, and small tools of undertow.func."""

import pytest

import undertow as ut
from undertow.func import debug_unwrap, functionalize, rearrange


@pytest.mark.parametrize(
    ("pattern", "lengths", "expected"),
    [
        ("a b c -> c a b", {}, lambda t: t.permute(2, 0, 1)),
        ("a (b x) c -> a x (b c)", {"x": 3}, lambda t: t.reshape(2, 2, 3, 4).permute(0, 2, 1, 3).reshape(2, 3, 8)),
        ("... c -> c ...", {}, lambda t: t.permute(2, 0, 1)),
        ("a ... -> (a ...)", {}, lambda t: t.reshape(-1)),
        ("a b c -> a 1 b c", {}, lambda t: t.unsqueeze(1)),
        ("(a x) b c -> a x b c", {"a": 1}, lambda t: t.unsqueeze(0)),
    ],
)
def test_patterns_rearrange_dimensions(pattern, lengths, expected):
    t = ut.arange(48).reshape(2, 6, 4)
    assert ut.equal(rearrange(t, pattern, **lengths), expected(t))


@pytest.mark.parametrize("pattern", ["a b -> a b", "a b c -> a b", "a b c", "a a c -> a c", "(a b c -> a b c", "a b c -> a b c d", "a .. -> a"])
def test_patterns_that_do_not_match_raise(pattern):
    with pytest.raises(ValueError, match="attern|describes"):
        rearrange(ut.zeros(2, 3, 4), pattern)


def test_rearranged_tensors_have_gradients():
    x = ut.rand(2, 6, dtype=ut.float64, requires_grad=True)
    assert ut.autograd.gradcheck(lambda x: rearrange(x, "a (b c) -> c (a b)", c=3), x)
    assert rearrange([ut.zeros(2), ut.ones(2)], "n a -> a n").tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_functionalize_leaves_the_values_and_checks_its_switch():
    def f(x):
        y = x * 2
        y[0].add_(1)
        return y

    assert ut.equal(ut.func.grad(lambda x: functionalize(f)(x).sum())(ut.ones(2)), ut.full((2,), 2.0))
    with pytest.raises(RuntimeError, match="received invalid argument"):
        functionalize(f, remove="everything")


def test_debug_unwrap_shows_the_batch_behind_a_sample():
    shapes = []

    def f(x):
        shapes.append((debug_unwrap(x).shape, debug_unwrap(x, recurse=False).shape))
        return x

    ut.vmap(ut.vmap(f))(ut.ones(4, 3, 2))
    assert shapes == [((4, 3, 2), (3, 2))]
