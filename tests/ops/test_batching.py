"""One test per table entry and property of vmap; see batching.py."""

from __future__ import annotations

import pytest
from batching import PROPERTIES, has_rule, properties_of
from table import entries


@pytest.mark.filterwarnings("ignore:.*deprecated", "ignore:There is a performance drop", "ignore:.*degrees of freedom", "ignore:Casting complex")
@pytest.mark.parametrize(("key", "name"), [(key, name) for key, e in entries().items() for name in properties_of(key, e)])
def test_property(key: str, name: str):
    assert PROPERTIES[name](key, entries()[key]), "nothing was compared"


@pytest.mark.parametrize("key", list(entries()))
def test_the_rule_an_entry_names_exists(key: str):
    assert has_rule(entries()[key]), f"{key}: batch = {entries()[key].batch!r} names no rule in undertow/_vmap"
