"""The lints find what they are for, and find nothing in the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.lint import assertions, comments, files, layers, lengths, notes


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Writes files into a separate repository and returns their paths."""

    def write(**contents: str) -> list[Path]:
        paths = []
        for name, text in contents.items():
            path = Path(name.replace("__", "/").replace("_h", ".h").replace("_cpp", ".cpp").replace("_py", ".py"))
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
            paths.append(path)
        return paths

    monkeypatch.setattr(files, "ROOT", tmp_path)
    return write


def test_a_lower_layer_may_not_include_a_higher_one(tree):
    found = layers.check(tree(core__tensor__a_h='// a.h: x\n#include "core/graph/node.h"\n#include "core/base/ref.h"\n'))
    assert len(found) == 1 and "core/tensor may not include core/graph/node.h" in found[0]


def test_only_the_binding_layer_knows_python(tree):
    assert layers.check(tree(core__graph__a_cpp="// a.cpp: x\n#include <Python.h>\n"))
    assert not layers.check(tree(core__python__a_cpp="// a.cpp: x\n#include <Python.h>\n"))


def test_a_program_includes_headers_that_exist(tree):
    files = tree(core__base__a_h="// a.h: a.\n", bench__cpp__x_cpp='// x.cpp: x.\n#include "core/base/a.h"\n#include "core/base/b.h"\n')
    assert layers.check(files) == ["bench/cpp/x.cpp: includes core/base/b.h, which does not exist"]


def test_the_package_imports_numpy_only_where_it_is_used(tree):
    assert layers.check(tree(undertow__a_py='"""x"""\nimport numpy\n'))
    assert not layers.check(tree(undertow__a_py='"""x"""\ndef f():\n    import numpy\n'))
    assert layers.check(tree(undertow__a_py='"""x"""\nimport torch\n'))


def test_forward_asks_for_what_a_device_can_do_not_for_meta(tree):
    assert layers.check(tree(core__forward__a_cpp="// a.cpp: x\nbool f(const Tensor& t) { return t.is_meta(); }\n"))
    assert not layers.check(tree(core__forward__a_cpp="// a.cpp: x\nbool f(const Tensor& t) { return has_elements(t); }\n"))
    assert not layers.check(tree(core__python__a_cpp="// a.cpp: x\nbool f(const Tensor& t) { return t.is_meta(); }\n"))


def test_a_note_is_defined_once_and_every_citation_finds_it(tree):
    good = tree(a_h="// Note [Good Name]\n// Because.\n", b_h="// See Note [Good\n// Name].\n")
    assert not notes.check(good)
    assert "defined nowhere" in notes.check(tree(c_h="// See Note [Lost Name].\n"))[0]
    assert "defined again" in notes.check([*good, *tree(d_h="// Note [Good Name]\n// Again.\n")])[0]


def test_a_file_says_what_it_is_for(tree):
    assert comments.check(tree(a_h="#pragma once\n", b_py="x = 1\n")) and len(comments.check(tree(a_h="int x;\n", b_py="x = 1\n"))) == 2
    assert not comments.check(tree(a_h="// a.h: something.\n", b_py='"""Something."""\n'))


def test_a_file_has_a_length(tree):
    assert lengths.check(tree(a_h="\n" * 800))
    assert not lengths.check(tree(a_h="\n" * 400))


def test_a_test_asserts_something_itself_or_through_a_helper(tree):
    silent = "def test_a():\n    f()\n\ndef f():\n    print(1)\n"
    found = assertions.check(tree(tests__test_x_py=silent))
    assert len(found) == 1 and "test_a asserts nothing" in found[0]
    for body in ("assert f() is None", "np.testing.assert_allclose(f(), 1)", "with pytest.raises(ValueError):\n        f()", "g()"):
        source = silent.replace("    f()\n", f"    {body}\n", 1) + "\ndef g():\n    assert f()\n"
        assert not assertions.check(tree(tests__test_x_py=source)), body


def test_an_expected_error_is_distinguished_from_others(tree):
    def found(kinds: str):
        return assertions.check(tree(tests__test_x_py=f"def test_a():\n    with pytest.raises({kinds}:\n        f()\n"))

    assert "broad class" in found("Exception)")[0] and found("RuntimeError)") and found("(ValueError, RuntimeError))")
    assert not found("RuntimeError, match='no')") and not found("Exception) as error") and not found("ZeroDivisionError)")


def test_the_repository_is_clean():
    everything = files.tracked()
    checks = (layers, notes, comments, lengths, assertions)
    assert not [finding for check in checks for finding in check.check(everything)]


def test_every_mutation_still_matches_the_code():
    environment = {**os.environ, "PYTHONPATH": str(files.ROOT)}
    done = subprocess.run([sys.executable, "-m", "tools.mutate", "--list"], cwd=files.ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.splitlines()) >= 50
