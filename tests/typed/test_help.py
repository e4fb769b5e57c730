"""`help` and `inspect.signature` of compiled functions: torch's parameter names, every overload, a sentence, and an example that is correct."""

import doctest
import inspect
import pydoc

import pytest

import undertow as ut
from undertow import _C

FUNCTIONS = sorted(_C._ops)
METHODS = sorted(n for n, m in vars(ut.Tensor).items() if type(m).__name__ == "method_descriptor" and m.__text_signature__)
WITH_EXAMPLE = [name for name in FUNCTIONS if ">>> " in _C._ops[name].__doc__]
EXAMPLES = doctest.DocTestParser()


def test_the_operators_used_most_have_an_example():
    assert len(WITH_EXAMPLE) >= 140
    assert {"sum", "where", "max", "cat", "matmul", "zeros", "softmax", "linalg.linalg_svd", "nn.functional.linear"} <= set(WITH_EXAMPLE)


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_an_example_is_true(name):
    test = EXAMPLES.get_doctest(_C._ops[name].__doc__, {"ut": ut}, name, None, 0)
    assert test.examples
    failures, tried = doctest.DocTestRunner(verbose=False).run(test)
    assert tried > 0
    assert failures == 0


def test_every_function_has_a_sentence_and_a_signature():
    for name in FUNCTIONS:
        function = _C._ops[name]
        inspect.signature(function)
        assert function.__doc__ and "--" not in function.__doc__.splitlines()[0], name


def test_every_method_of_the_tables_has_a_signature_without_the_tensor():
    assert len(METHODS) > 400
    for name in METHODS:
        assert "input" not in inspect.signature(getattr(ut.ones(1), name)).parameters, name
        assert next(iter(inspect.signature(getattr(ut.Tensor, name)).parameters)) == "self"


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (ut.relu, "(input, *, out=None)"),
        (ut.sum, "(input, dim=Ellipsis, keepdim=False, *, dtype=None, out=None)"),
        (ut.where, "(condition, input=Ellipsis, other=Ellipsis, *, out=None)"),
        (ut.max, "(input, *args, **kwargs)"),
        (ut.zeros, "(*size, dtype=None, device=None, out=None, layout=None, pin_memory=None, requires_grad=False)"),
        (ut.Tensor.cumsum, "(self, /, dim, *, dtype=None)"),
    ],
)
def test_one_signature_covers_all_overloads(function, signature):
    assert str(inspect.signature(function)) == signature


def test_calls_of_every_overload_fit_the_signature():
    x = ut.ones(2, 2)
    inspect.signature(ut.sum).bind(x)
    inspect.signature(ut.sum).bind(x, 0, True, dtype=ut.float64)
    inspect.signature(ut.where).bind(x > 0)
    inspect.signature(ut.max).bind(x, dim=0)
    inspect.signature(ut.zeros).bind(2, 3, dtype=ut.int64)
    with pytest.raises(TypeError, match="dimension"):
        inspect.signature(ut.sum).bind(x, dimension=0)


def test_help_lists_the_overloads():
    text = pydoc.render_doc(ut.where, renderer=pydoc.plaintext)
    assert "where(condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor" in text
    assert "where(condition: Tensor) -> tuple[Tensor, ...]" in text
    assert "Selects elements of input where condition is True, and of other elsewhere." in text
    assert ">>> ut.where(ut.tensor([True, False]), ut.tensor([1, 2]), 0)\n    tensor([1, 0])" in text
    assert "self" not in ut.sigmoid.__doc__
