"""One test per table entry and property; see README.md."""

from __future__ import annotations

import pytest
from checks import PROPERTIES, SLOW, properties_of
from table import entries

PAIRS = [(key, name) for key, e in entries().items() for name in properties_of(key, e)]


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")
@pytest.mark.parametrize(("key", "name"), [pytest.param(*pair, marks=[pytest.mark.slow] * (pair[1] in SLOW)) for pair in PAIRS])
def test_property(key: str, name: str):
    PROPERTIES[name](key, entries()[key])
