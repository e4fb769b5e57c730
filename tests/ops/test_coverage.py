"""Every entry has property tests, or names the entry whose property tests call it."""

from __future__ import annotations

import cases
import pytest
from apply import cases_of, drawn
from checks import properties_of
from numeric import flatten
from samples import GENERATORS, tensors_of
from table import dtypes_listed, entries, find, plain_id

import undertow as ut
from undertow.autograd import profiler


@pytest.mark.parametrize("key", list(entries()))
def test_an_entry_has_properties_or_names_one_that_does(key: str):
    e = entries()[key]
    assert ("samples" in e.spec) != ("tested_by" in e.spec), f"{key} needs either samples or tested_by"
    if "tested_by" in e.spec:
        assert properties_of(e.spec["tested_by"], entries()[e.spec["tested_by"]])
        return
    name, by_hand = e.spec["samples"], key in cases.CASES or plain_id(key) in cases.CASES
    assert name == "cases" or name in GENERATORS, f"unknown samples {name!r}; known are {', '.join(GENERATORS)}, cases"
    assert by_hand or name != "cases", f"tests/ops/cases/{e.family}.py has no case of {key}"
    assert find(e) is not None, f"{key}: Python has no function of that name"
    assert properties_of(key, e)


def operators_of(key: str) -> set[str]:
    """Names of the operators that run when an entry's cases are computed and differentiated, once and twice."""
    e = entries()[key]
    with profiler.profile() as profile:
        for number, c in enumerate(cases_of(key, e)):
            args, kwargs = drawn(key, c, "float64", number)
            full = [t.requires_grad_() if isinstance(t, ut.Tensor) and t.is_floating_point() and a.name in e.grad else t
                    for t, a in zip(tensors_of(tuple(args), "float64"), e.args, strict=False)]
            leaves = [t for t in full if isinstance(t, ut.Tensor) and t.requires_grad]
            outputs = [o for o in flatten(find(e)(*full, **{k: tensors_of(v, "float64") for k, v in kwargs.items()})) if o.requires_grad]
            ut.autograd.grad(outputs, leaves, [ut.ones_like(o) for o in outputs], create_graph=True, allow_unused=True)
    return {event.name for event in profile.function_events}


@pytest.mark.parametrize("key", [key for key, e in entries().items() if "tested_by" in e.spec])
def test_the_entry_it_names_calls_an_operator_without_samples(key: str):
    e = entries()[key]
    called = operators_of(e.spec["tested_by"])
    assert e.public in {name.removeprefix("aten::") for name in called}, f"{e.spec['tested_by']} calls {', '.join(sorted(called))}"


def test_a_family_of_cases_is_a_family_of_the_tables():
    families = {k: e.family for key, e in entries().items() for k in (key, plain_id(key))}
    for name, module in cases.FAMILIES.items():
        wrong = {key: families.get(key) for key in [*module.CASES, *getattr(module, "EXCEPT", {})] if families.get(key) != name}
        assert not wrong, f"tests/ops/cases/{name}.py has cases of other families, or of no entry: {wrong}"


def test_dtypes_are_listed_for_existing_entries():
    assert set(dtypes_listed()) <= set(entries()), "rewrite dtypes.txt: python tests/ops/table.py dtypes"


def test_exceptions_name_existing_entries():
    names = {e.name for e in entries().values()}
    assert names >= cases.RANDOM | cases.LAYOUT_MATTERS | cases.NOT_SMOOTH
