"""No entry goes untested without a reason."""

from __future__ import annotations

import cases
import pytest
from checks import properties_of
from samples import GENERATORS
from table import dtypes_listed, entries, find, plain_id


@pytest.mark.parametrize("key", list(entries()))
def test_an_entry_has_properties_or_a_reason(key: str):
    e = entries()[key]
    name = e.spec.get("samples", "none")
    assert name == "none" or name in GENERATORS, f"unknown samples {name!r}; known are {', '.join(GENERATORS)}, none"
    reason = cases.UNTESTED.get(key) or cases.UNTESTED.get(plain_id(key))
    if e.spec.get("python") == "none" or e.name.startswith("_"):
        reason = reason or "internal"
    count = len(properties_of(key, e))
    if count == 0:
        where = "" if find(e) else "; Python has no function of that name"
        assert reason, f"{key} has no property: give it samples, or a case in tests/ops/cases.py{where}"


def test_dtypes_are_listed_of_entries_that_exist():
    assert set(dtypes_listed()) <= set(entries()), "write dtypes.txt anew: python tests/ops/table.py dtypes"


def test_reasons_and_cases_are_of_entries_that_exist_and_need_them():
    known = {plain_id(key) for key in entries()} | set(entries())
    names = {e.name for e in entries().values()}
    assert set(cases.UNTESTED) <= known
    assert set(cases.CASES) <= known
    assert set(cases.EXCEPT) <= known
    assert names >= cases.RANDOM | cases.LAYOUT_MATTERS | cases.NOT_SMOOTH
    for key, e in entries().items():
        if key in cases.UNTESTED:
            assert not properties_of(key, e), f"{key} has properties now: take it off the list"
