"""The documentation site builds without warnings or broken links and has an entry for every public name."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
import zlib

import pytest
from paths import ROOT

import undertow
import undertow.distributions
import undertow.nn
import undertow.nn.functional
import undertow.optim

for needed in ("sphinx", "myst_parser", "furo"):
    pytest.importorskip(needed, reason="the site is built with the packages of the `docs` extra")

from tools.docs import docstrings, links

MODULES = (undertow, undertow.nn, undertow.nn.functional, undertow.optim, undertow.distributions)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, str(ROOT / "tools/docs/__main__.py"), "--out", str(out)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.fixture(scope="module")
def described(site):
    """Every name that has an entry or is listed as another name of one."""
    # Four lines of header, then compressed lines "name domain:role priority address title". Sphinx's own reader changes between versions.
    entries = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode().splitlines()
    return {name for name, kind, *_ in map(str.split, entries) if kind.startswith("py:")}


@pytest.mark.slow
def test_site_has_the_pages_a_reader_starts_at(site):
    for page in ("index", "docs/first_network", "docs/architecture", "api/index", "api/undertow.nn", "api/undertow.Tensor", "core/graph/README"):
        assert (site / f"{page}.html").stat().st_size > 1000


@pytest.mark.slow
def test_every_tensor_attribute_has_an_entry(described):
    names = {n for n in dir(undertow.Tensor) if not n.startswith("_")}
    assert len(names) > 500
    assert not sorted(n for n in names if f"undertow.Tensor.{n}" not in described)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_every_public_function_and_class_has_an_entry(module, described):
    known = {d.rpartition(".")[2] for d in described}
    missing = []
    for name in dir(module):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(module, name, None)
        owned = (getattr(value, "__module__", None) or "undertow").startswith("undertow")
        if name.startswith("_") or not owned or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        if name not in known:
            missing.append(name)
    assert not missing


def test_link_check_reports_what_is_missing(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">b</a><a href="b.html#gone">b</a><a href="c.html">c</a><script src="https://cdn.example/x.js"></script>')
    (tmp_path / "b.html").write_text('<p id="there">b</p><a href="https://example.org">out</a>')
    found = links.broken(tmp_path)
    assert [p.split(": ", 1)[1].split()[0] for p in found] == ["b.html#gone", "c.html", "loads"]


def test_docstrings_become_text_without_markup():
    signatures, text = docstrings.split_signatures("f(x) -> Tensor\nf(x, *, y) -> Tensor\n\nOf `x` and *y*:\n\n    a_b = |c|\n\n>>> f(1)\n2")
    assert signatures == ["f(x) -> Tensor", "f(x, *, y) -> Tensor"]
    lines = docstrings.as_rst(text)
    assert lines[0] == "Of ``x`` and \\*y\\*:"
    assert lines[2:5] == [".. code-block:: text", "", "   a_b = |c|"]
    assert lines[6:10] == [".. code-block:: pycon", "", "   >>> f(1)", "   2"]
