"""`diff` finds the first node where two recordings differ."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.inspect import diff, record


def recorded(work, **options):
    with record(**options) as r:
        work()
    return r


def leaf() -> ut.Tensor:
    return ut.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_equal_runs_do_not_part():
    def work():
        x = leaf()
        (x.exp() * x).sum().backward()

    found = diff(recorded(work, values=True), recorded(work, values=True))
    assert not found and found.kind == "none" and str(found) == "the recordings agree in 1 pass."
    assert "values were not recorded" in str(diff(recorded(work), recorded(work)))


def test_another_node_is_a_difference_in_structure():
    x = leaf()
    a, b = recorded(lambda: (x * 2).exp().sum().backward()), recorded(lambda: (x * 2).sin().sum().backward())
    found = diff(a, b)
    assert found and (found.kind, found.number, found.position) == ("structure", 0, 1)
    assert [r.name(n) for r, n in zip((a, b), found.nodes, strict=True)] == ["ExpBackward0", "SinBackward0"]
    assert "test_diff.py:" in str(found) and "<b>structure</b>" in found._repr_html_()


def test_another_shape_is_a_difference_in_structure():
    a, b = (recorded(lambda n=n: (ut.ones(n, requires_grad=True) * 2).sum().backward()) for n in (3, 4))
    assert diff(a, b).kind == "structure"


def test_the_same_nodes_in_another_order():
    def work(swap):
        x = leaf()
        first, second = (x.sin, x.exp) if swap else (x.exp, x.sin)
        a, b = first().sum(), second().sum()
        (a + b).backward()

    found = diff(recorded(lambda: work(False)), recorded(lambda: work(True)))
    assert found.kind == "order" and "another order" in str(found)


def test_another_value_names_the_gradient():
    def work(scale):
        x = leaf()
        ((x * 2).exp() * scale).sum().backward()

    a, b = (recorded(lambda s=s: work(s), values=True) for s in (1.0, 1.5))
    found = diff(a, b)
    assert found.kind == "value" and a.name(found.nodes[0]) == "ExpBackward0" and "norm" in str(found)
    assert diff(a, b, rtol=1.0).kind == "none"


def test_a_nan_is_a_difference():
    def work(zero):
        x = ut.tensor([zero, 4.0], requires_grad=True)
        (x.sqrt() * 0).sum().backward()

    found = diff(recorded(lambda: work(0.0), values=True), recorded(lambda: work(1.0), values=True))
    assert found.kind == "value" and "nan: 1 against 0" in str(found)


def test_fewer_passes_are_a_difference():
    def work(times):
        for _ in range(times):
            leaf().exp().sum().backward()

    found = diff(recorded(lambda: work(2)), recorded(lambda: work(3)))
    assert found.kind == "passes" and "2 passes" in str(found)


def test_a_pass_that_ends_early_parts_at_its_end():
    x = leaf()
    y = x * 2
    whole = recorded(lambda: y.exp().sum().backward())

    def fails(grad):
        raise ValueError("no")

    z = x * 2
    z.register_hook(fails)
    half = recorded(lambda: pytest.raises(ValueError, z.exp().sum().backward))
    found = diff(whole, half)
    assert found.kind == "structure" and "the end of the pass" in str(found)


def test_recordings_may_be_files(tmp_path):
    r = recorded(lambda: leaf().exp().sum().backward())
    r.save(tmp_path / "a.utrace")
    assert not diff(tmp_path / "a.utrace", r)
