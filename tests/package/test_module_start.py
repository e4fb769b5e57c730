"""How the extension module starts: once per process, in the main interpreter, with the GIL enabled."""

from __future__ import annotations

import subprocess
import sys

import pytest

SUBINTERPRETER = """
import importlib, sys
import undertow
for name in ("_interpreters", "_xxsubinterpreters"):
    try:
        interpreters = importlib.import_module(name)
        break
    except ImportError:
        continue
inner = interpreters.create()
code = '''
try:
    import undertow
except ImportError as e:
    assert "does not support loading in subinterpreters" in str(e), e
else:
    raise AssertionError("imported")
'''
result = interpreters.run_string(inner, "import sys; sys.path[:] = %r\\n%s" % (sys.path, code))
assert result is None, result
interpreters.destroy(inner)
print(undertow.ones(2).sum().item())
"""

AGAIN = """
import sys
import undertow
module = sys.modules.pop("undertow._C")
import undertow._C
assert sys.modules["undertow._C"] is module
assert undertow._C.Tensor is undertow.Tensor
print(undertow.ones(2).sum().item())
"""

FRESH_PACKAGE = """
import sys
import undertow
first = undertow.Tensor
for name in [n for n in sys.modules if n.split(".")[0] == "undertow"]:
    del sys.modules[name]
import undertow
assert undertow.Tensor is first
print(undertow.ones(2).sum().item())
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("code", [AGAIN, FRESH_PACKAGE], ids=["the module", "the whole package"])
def test_a_second_import_gets_the_same_types(code):
    assert run(code) == "2.0"


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="CPython's subinterpreters")
def test_a_subinterpreter_cannot_import_the_module():
    assert run(SUBINTERPRETER) == "2.0"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="free-threaded builds begin with 3.13")
def test_the_lock_is_on_after_the_import():
    assert run("import sys, undertow; print(sys._is_gil_enabled())") == "True"
