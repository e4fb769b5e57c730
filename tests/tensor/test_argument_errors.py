"""The TypeError for arguments that fit no overload: it shows signatures as torch does."""

from __future__ import annotations

import pytest

import undertow as ut

# Functions and methods with one overload, or with one that takes this number of arguments: the message names the argument.
NAMED = {
    "the tensor of a function": lambda L: L.relu(1),
    "the tensor of a function with overloads": lambda L: L.sum(1),
    "an argument of a method": lambda L: L.ones(2).dot("a"),
    "a number or tensor": lambda L: L.ones(2).add("a"),
    "a keyword": lambda L: L.nn.functional.gelu(L.ones(2), approximate=3),
    "an unknown keyword": lambda L: L.zeros(2, foo=1),
    "one missing argument": lambda L: L.dot(L.ones(1)),
    "two missing arguments": lambda L: L.transpose(L.ones(2, 2)),
    "too many arguments": lambda L: L.relu(L.ones(1), 2, 3),
    "a tuple with another element": lambda L: L.cat([L.ones(1), 2]),
    "a flag": lambda L: L.ones(2).requires_grad_("a"),
    "an element of a size": lambda L: L.Size(["a"]),
}


@pytest.mark.parametrize("case", NAMED)
def test_an_argument_that_does_not_fit_is_named(case, same_as_torch):
    same_as_torch(NAMED[case], characters=60)


# The order of overloads differs from torch's in some functions: these have torch's.
LISTED = {
    "a method": lambda L: L.ones(2).masked_fill(L.ones(2).bool(), "a"),
    "sizes in brackets": lambda L: L.nn.functional.conv1d(L.ones(1, 1, 3), L.ones(1, 1, 1), stride="a"),
    "an argument of out= functions": lambda L: L.addmm(1, 2, 3),
}


@pytest.mark.parametrize("case", LISTED)
def test_overloads_are_listed_with_the_arguments_that_do_not_fit(case, same_as_torch):
    same_as_torch(LISTED[case], whole_messages=True)


def message(call) -> str:
    with pytest.raises(TypeError) as caught:
        call()
    return str(caught.value)


def test_a_method_shows_neither_its_tensor_nor_out():
    assert message(lambda: ut.ones(2).sum(dim="a")) == (
        "sum() received an invalid combination of arguments - got (dim=str), but expected one of:\n"
        " * (*, undertow.dtype dtype = None)\n"
        "      didn't match because some of the keywords were incorrect: dim\n"
        " * (tuple of ints dim, bool keepdim = False, *, undertow.dtype dtype = None)\n"
    )


def test_unknown_keywords_are_the_reason_before_types():
    text = message(lambda: ut.std(ut.ones(2), unbiase=True))
    assert "didn't match because some of the keywords were incorrect: unbiase\n" in text


def test_a_method_does_not_take_out():
    out = ut.zeros(())
    with pytest.raises(TypeError, match=r"^sum\(\)"):
        ut.ones(2).sum(out=out)
    assert ut.sum(ut.ones(2), out=out) is out


# Written in Python, where a wrong argument is first noticed by a missing attribute.
COMPOSED = {
    "fft": lambda L: L.fft.fft("a"),
    "cov": lambda L: L.cov([1.0]),
    "dropout": lambda L: L.nn.functional.dropout(1.0),
    "by name": lambda L: L.fft.rfft(input=None),
}


@pytest.mark.parametrize("case", COMPOSED)
def test_functions_in_python_name_an_argument_that_is_no_tensor(case):
    assert "argument 'input'" in message(lambda: COMPOSED[case](ut))


def test_a_type_that_is_none_is_refused():
    assert message(lambda: ut.ones(2).type(1)) == "dtype must be a type, str, or dtype object, not int"


def test_a_missing_attribute_of_another_object_keeps_its_error():
    with pytest.raises(AttributeError, match="nonsense"):
        ut.nn.functional.dropout(ut.ones(2)).nonsense  # noqa: B018  # an attribute that raises
