"""The overloads with `out=` have torch's names and schemas."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow._aten._out_forms import _bases
from undertow._aten._schema import texts

torch = pytest.importorskip("torch")


def _derived() -> dict[str, str]:
    """Return the schema of every overload with `out=` of the operators that take it here."""
    names = {n.rpartition(".")[2] if not n.startswith(("linalg.", "special.", "fft.")) else n.replace(".", "_") for n in ut._C._ops}
    found = {}
    for name in sorted(names & set(texts())):
        for overload in _bases(name):
            found[f"{name}.{overload}"] = str(getattr(getattr(ut.ops.aten, name), overload)._schema)
    return found


def test_schemas_of_overloads_with_out_are_torchs():
    compared, wrong = 0, []
    for key, schema in _derived().items():
        name, _, overload = key.partition(".")
        packet = getattr(torch.ops.aten, name, None)
        if packet is None or overload not in packet.overloads():
            continue  # derived, but not an operator that torch has with out=
        theirs = str(getattr(packet, overload)._schema)
        compared += 1
        if schema.partition(" -> ")[0] != theirs.partition(" -> ")[0]:
            wrong.append((schema, theirs))
    assert not wrong and compared > 350, (compared, wrong[:5])


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, a, o: lib.add(a, a, out=o),
        lambda lib, a, o: lib.mul(a, 2, out=o),
        lambda lib, a, o: lib.mm(a, a, out=o),
        lambda lib, a, o: lib.clamp(a, 0, 1, out=o),
        lambda lib, a, o: lib.exp(a, out=o),
        lambda lib, a, o: lib.cat([a[:1], a[1:]], out=o),
        lambda lib, a, o: lib.stack([a, a], out=o),
        lambda lib, a, o: lib.cumsum(a, 0, out=o),
        lambda lib, a, o: lib.tril(a, out=o),
        lambda lib, a, o: lib.linalg.inv(a, out=o),
        lambda lib, a, o: lib.special.erfcx(a, out=o),
        lambda lib, a, o: lib.gather(a, 0, lib.zeros(2, 2, dtype=lib.int64), out=o),
    ],
    ids=["add", "mul", "mm", "clamp", "exp", "cat", "stack", "cumsum", "tril", "inv", "erfcx", "gather"],
)
def test_a_mode_sees_the_overload_with_out_as_in_torch(call):
    def names(lib):
        from importlib import import_module

        class Names(import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        seen: list[str] = []
        a, out = lib.eye(2) + 1, lib.empty(0)
        with Names():
            result = call(lib, a, out)
        assert result is out
        return [n for n in seen if "out" in n.partition(".")[2].lower()], out.numpy()

    (ours, values), (theirs, expected) = names(ut), names(torch)
    assert ours == theirs and values == pytest.approx(expected)
