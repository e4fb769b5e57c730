"""`nan_birth` names the operation where it began; `watch` shows what the layers do."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import nn
from undertow.inspect import nan_birth, watch


def found(work) -> object:
    births = []
    with nan_birth(action=births.append):
        work()
    assert len(births) <= 1
    return births[0] if births else None


def test_the_first_forward_operation_is_named_with_line_and_range():
    x = ut.tensor([1.0, 0.0, 4.0])

    def work():
        y = x - 1
        z = y.log()
        return (z * 0).sum()

    birth = found(work)
    assert birth.operation == "log" and not birth.backward
    assert birth.line.endswith(f"test_nan_birth.py:{work.__code__.co_firstlineno + 2}")
    assert birth.inputs == ["float32 [3] from -1 to 3 (1 zero)"] and "1 NaN" in birth.results[0]
    assert "log" in str(birth) and "<p>" in birth._repr_html_()


def test_a_backward_node_is_named_with_the_line_that_made_it():
    x = ut.zeros(2, requires_grad=True)

    def work():
        y = x.sqrt()
        (y * 2).sum().backward()

    birth = found(work)
    assert birth.operation == "SqrtBackward0" and birth.backward
    assert birth.line.endswith(f":{work.__code__.co_firstlineno + 1}")
    assert "Inf" in birth.results[0] and birth.inputs == ["float32 [2] from 2 to 2"]


def test_a_nan_made_from_infinities_is_a_birth():
    mask = ut.full((2, 2), -float("inf"))
    birth = found(lambda: ut.softmax(ut.rand(2, 2).masked_fill(ut.ones(2, 2, dtype=ut.bool), -float("inf")), -1))
    assert birth.operation in ("softmax", "_softmax")
    assert found(lambda: mask + 1) is None


def test_numbers_that_the_program_writes_are_none():
    x = ut.rand(3)
    assert found(lambda: x.masked_fill(x > -1, float("inf"))) is None
    assert found(lambda: ut.where(x > -1, float("nan"), x)) is None
    assert found(lambda: x.clone().fill_(float("nan"))) is None


def test_an_operation_with_bad_inputs_is_not_blamed():
    bad = ut.tensor([float("nan"), float("inf")])
    assert found(lambda: (bad * 2).exp()) is None


def test_a_finite_result_whose_sum_overflows_is_no_birth():
    large = ut.full((4,), 3e38)
    assert found(lambda: large * 1.0) is None
    assert found(lambda: large.double() * 1.0) is None


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, ut.bfloat16, ut.float16, ut.complex64])
def test_infinities_that_cancel_in_a_sum_are_found(dtype):
    ends = ut.tensor([1.0, -1.0, 2.0, -2.0], dtype=dtype)
    assert found(lambda: ends / ut.zeros(4, dtype=dtype)).operation == "div"
    assert found(lambda: ends * 0) is None


def test_a_write_in_place_is_found():
    x = ut.ones(2)
    assert found(lambda: x.div_(ut.zeros(2))).operation == "div_"


def test_an_overflow_in_half_precision_is_found():
    assert found(lambda: ut.tensor([300.0], dtype=ut.float16) * 300).operation == "mul"


def test_finite_programs_report_nothing_and_results_are_unchanged():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    x = ut.rand(4, 3)
    model(x).sum().backward()
    plain = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    assert found(lambda: model(x).sum().backward()) is None
    assert all(a.equal(p.grad) for a, p in zip(plain, model.parameters(), strict=True))


def test_it_warns_once_or_raises():
    x = ut.tensor([-1.0])
    with pytest.warns(UserWarning, match="sqrt .*made a NaN or an Inf") as seen, nan_birth() as watcher:
        x.sqrt()
        x.log()
    assert len(seen) == 1 and watcher.found.operation == "sqrt"
    with pytest.raises(FloatingPointError, match="sqrt"), nan_birth(action="raise"):
        x.sqrt()
    with pytest.raises(ValueError, match="action"):
        nan_birth(action="shout")


def test_the_warning_is_shown_at_the_line_of_the_program():
    x = ut.zeros(2, requires_grad=True)
    y = x.sqrt().sum()
    for work in (lambda: (x - 1).log(), y.backward):
        with pytest.warns(UserWarning, match="made a NaN or an Inf") as seen, nan_birth():
            work()
        assert seen[0].filename == __file__


def test_a_backward_birth_raises_out_of_the_pass():
    x = ut.zeros(2, requires_grad=True)
    y = x.sqrt().sum()
    with pytest.raises(FloatingPointError, match="SqrtBackward0"), nan_birth(action="raise"):
        y.backward()
    assert not ut._C._is_recording_lines()


def test_watch_keeps_the_figures_of_each_layer_and_step():
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = ut.optim.SGD(model.parameters(), lr=0.1)
    written = []

    class Writer:
        def add_scalar(self, tag, value, step):
            written.append((tag, value, step))

    with watch(model, show=False, writer=Writer()) as seen:
        for _ in range(3):
            optimizer.zero_grad()
            out = model[1](model[0](ut.rand(5, 2) - 2))
            model[2](out).sum().backward()
            norm = float(sum((p.grad**2).sum() for p in model[2].parameters()) ** 0.5)
            optimizer.step()
            assert seen.history[-1]["2"]["gradient"] == pytest.approx(norm)
            assert seen.history[-1]["1"]["zeros"] == pytest.approx(float((out == 0).sum()) / 20)
    assert len(seen.history) == 3 and seen.history[0]["1"]["gradient"] is None
    assert ("2/gradient", seen.history[1]["2"]["gradient"], 1) in written
    assert "layer" in seen.table() and "<pre>" in seen._repr_html_()


def test_watch_shows_a_table_and_removes_its_hooks(capsys):
    model = nn.Linear(2, 1)
    optimizer = ut.optim.SGD(model.parameters(), lr=0.1)
    with watch(model) as seen:
        model(ut.ones(1, 2)).sum().backward()
        optimizer.step()
    assert "step 0" in capsys.readouterr().out
    optimizer.step()
    assert len(seen.history) == 1 and not model._forward_hooks
