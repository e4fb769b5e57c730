"""`Optimizer`: minimize, compute_gradients and apply_gradients, their errors, slots, processors, the global step; `Variable`."""

from __future__ import annotations

import copy
import math
import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow import train
from undertow.train import IndexedSlices, Optimizer, Variable, _get_processor

OPTIMIZERS = {
    "GradientDescent": lambda: train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
    "Adagrad": lambda: train.AdagradOptimizer(0.1),
    "Adadelta": lambda: train.AdadeltaOptimizer(0.1),
    "Adam": lambda: train.AdamOptimizer(0.1),
    "RMSProp": lambda: train.RMSPropOptimizer(0.1, centered=True),
    "Ftrl": lambda: train.FtrlOptimizer(0.1),
    "ProximalGradientDescent": lambda: train.ProximalGradientDescentOptimizer(0.1),
    "ProximalAdagrad": lambda: train.ProximalAdagradOptimizer(0.1),
    "AdagradDA": lambda: train.AdagradDAOptimizer(0.1, ut.tensor(0)),
}
SLOTS = {"Adadelta": ["accum", "accum_update"], "GradientDescent": [], "Momentum": ["momentum"], "Adagrad": ["accumulator"], "Adam": ["m", "v"], "RMSProp": ["mg", "momentum", "rms"], "Ftrl": ["accum", "linear"], "ProximalGradientDescent": [], "ProximalAdagrad": ["accumulator"], "AdagradDA": ["gradient_accumulator", "gradient_squared_accumulator"]}


def test_minimize_is_compute_then_apply():
    one, other = Variable([1.0, 2.0]), Variable([1.0, 2.0])
    a, b = train.AdamOptimizer(0.1), train.AdamOptimizer(0.1)
    for _ in range(3):
        a.minimize((one**3).sum())
        b.apply_gradients(b.compute_gradients((other**3).sum()))
    assert (one == other).all()


def test_compute_gradients_returns_pairs_including_none():
    w, unused = Variable([1.0, 2.0], name="w"), Variable([3.0], name="unused")
    pairs = train.GradientDescentOptimizer(0.1).compute_gradients((w * w).sum(), [w, unused])
    assert [v.name for _, v in pairs] == ["w", "unused"]
    assert pairs[0][0].tolist() == [2, 4] and pairs[1][0] is None
    assert w.grad is None  # nothing is left in .grad


def test_gradients_may_be_changed_before_they_are_applied():
    w, b = Variable([3.0, 4.0]), Variable(0.0)
    opt = train.GradientDescentOptimizer(1.0)
    pairs = opt.compute_gradients((w * w).sum() / 2 + b * 0)
    clipped, norm = train.clip_by_global_norm([g for g, _ in pairs], 1.0)
    opt.apply_gradients(zip(clipped, [v for _, v in pairs]))
    assert norm.item() == 5
    np.testing.assert_allclose(w.detach().numpy(), [2.4, 3.2], rtol=1e-6)


def test_default_variables_are_the_trainable_leaves_of_the_graph():
    w, fixed, elsewhere = Variable(2.0, name="w"), Variable(3.0, trainable=False), Variable(4.0)
    layer = ut.nn.Linear(1, 1)
    pairs = train.GradientDescentOptimizer(0.1).compute_gradients((layer(ut.ones(1)) * w * fixed).sum())
    found = [v for _, v in pairs]
    assert {id(v) for v in found} == {id(w), id(layer.weight), id(layer.bias)}
    assert elsewhere.grad is None


def test_untrainable_variables_can_be_requested():
    fixed = Variable(3.0, trainable=False)
    ((g, v),) = train.GradientDescentOptimizer(0.1).compute_gradients(fixed * fixed, [fixed])
    assert g.item() == 6 and v is fixed


@pytest.mark.parametrize("gate", [Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH])
def test_a_loss_may_be_a_function(gate):
    w = Variable(1.0)
    opt = train.GradientDescentOptimizer(0.25)
    with ut.no_grad():  # the function is recorded all the same
        for _ in range(2):
            opt.minimize(lambda: w * w, gate_gradients=gate)
    assert w.item() == 0.25


def test_var_list_may_be_nested_a_dictionary_a_generator_or_one_variable():
    a, b = Variable(1.0, name="a"), Variable(2.0, name="b")
    opt = train.GradientDescentOptimizer(0.1)
    for given in ([a, [b]], (a, b), {"y": b, "x": a}, (v for v in (a, b)), lambda: [a, b]):
        assert [v.name for _, v in opt.compute_gradients(a * b, given)] == ["a", "b"]
    assert len(opt.compute_gradients(a * b, a)) == 1


def test_grad_loss_weights_a_loss_of_many_elements():
    w = Variable([1.0, 2.0])
    opt = train.GradientDescentOptimizer(1.0)
    ((ones, _),) = opt.compute_gradients(w * 3)
    ((weighted, _),) = opt.compute_gradients(w * 3, grad_loss=ut.tensor([1.0, 10.0]))
    assert ones.tolist() == [3, 3] and weighted.tolist() == [3, 30]
    opt.minimize(w * 3, grad_loss=ut.tensor([0.0, 1.0]))
    assert w.tolist() == [1, -1]


@pytest.mark.parametrize("step", [Variable(5, trainable=False), ut.tensor(5), ut.tensor(5, dtype=ut.int32)], ids=["variable", "int64", "int32"])
@pytest.mark.parametrize("gate", [Optimizer.GATE_NONE, Optimizer.GATE_GRAPH])
def test_the_global_step_is_incremented(step, gate):
    w, before = Variable(1.0), step.item()
    opt = train.GradientDescentOptimizer(0.1)
    opt.minimize(w * w, global_step=step, gate_gradients=gate)
    opt.apply_gradients([(ut.tensor(0.0), w)], global_step=step)
    assert step.item() == before + 2


@pytest.mark.parametrize("step", [3, ut.tensor(1.0), ut.tensor([1])])
def test_a_global_step_that_is_not_an_integer_raises_before_anything_changes(step):
    w = Variable(1.0)
    with pytest.raises(TypeError, match="global_step"):
        train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=step)
    assert w.item() == 1


@pytest.mark.slow
def test_a_variable_used_a_million_times_costs_a_million_steps():
    w = Variable(ut.ones(1, dtype=ut.float64))
    y = w
    for _ in range(1_000_000):
        y = y + w
    train.GradientDescentOptimizer(1e-6).minimize(y.sum(), aggregation_method=train.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)
    assert w.item() == pytest.approx(-1e-6)


def test_minimize_frees_the_graph_and_compute_gradients_keeps_it():
    w = Variable(2.0)
    opt = train.GradientDescentOptimizer(0.0)
    loss = w.exp()
    for _ in range(2):
        assert opt.compute_gradients(loss)[0][0].item() == pytest.approx(math.exp(2.0))
    opt.minimize(loss)
    with pytest.raises(RuntimeError, match="a second time"):
        opt.minimize(loss)


# Errors.


def test_no_gradient_for_any_variable_names_them():
    w, v = Variable(1.0, name="weight"), Variable([1.0], name="bias")
    opt = train.GradientDescentOptimizer(0.1)
    for gate in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
        with pytest.raises(ValueError, match="No gradients provided for any variable: .*'weight'.*'bias'.*loss"):
            opt.minimize(ut.ones(1, requires_grad=True).sum(), var_list=[w, v], gate_gradients=gate)
    with pytest.raises(ValueError, match="No gradients provided for any variable: .*'weight' shape=\\(\\) dtype=float32"):
        opt.apply_gradients([(None, w)])


def test_other_mistakes_raise():
    w = Variable(1.0)
    opt = train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No variables to optimize"):
        opt.minimize(ut.tensor(1.0))
    with pytest.raises(ValueError, match="No variables provided"):
        opt.apply_gradients([])
    with pytest.raises(TypeError, match="Gradient must be convertible to a Tensor or IndexedSlices, or None"):
        opt.apply_gradients([(object(), w)])
    with pytest.raises(ValueError, match="Invalid type undertow.int64 for .*expected"):
        opt.minimize(ut.tensor(1))
    with pytest.raises(ValueError, match="Invalid type undertow.complex64"):
        opt.compute_gradients(w * 1, [Variable(1j)])
    with pytest.raises(TypeError, match="loss that is a tensor"):
        opt.minimize(lambda: 3.0)
    with pytest.raises(ValueError, match="Shapes must be equal"):
        opt.apply_gradients([(ut.ones(3), w)])
    with pytest.raises(ValueError, match="Must specify the optimizer name"):
        train.GradientDescentOptimizer(0.1, name="")
    assert w.item() == 1


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: train.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive: 0.0"),
        (lambda: train.FtrlOptimizer(0.1, initial_accumulator_value=-1.0), "initial_accumulator_value -1.0 needs to be positive or zero"),
        (lambda: train.FtrlOptimizer(0.1, learning_rate_power=0.5), "learning_rate_power 0.5 needs to be negative or zero"),
        (lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0), "l1_regularization_strength -1.0 needs to be positive or zero"),
        (lambda: train.FtrlOptimizer(0.1, l2_regularization_strength=-1.0), "l2_regularization_strength -1.0 needs to be positive or zero"),
        (lambda: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=-1.0), "l2_shrinkage_regularization_strength -1.0 needs"),
        (lambda: train.ProximalGradientDescentOptimizer(0.1, -1.0), "l1_regularization_strength -1.0 needs to be positive or zero"),
        (lambda: train.ProximalAdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive: 0.0"),
        (lambda: train.AdagradDAOptimizer(0.1, 0, 0.0), "initial_gradient_squared_accumulator_value must be positive: 0.0"),
        (lambda: train.AdagradDAOptimizer(0.1, 0, 0.1, 0.0, -1.0), "l2_regularization_strength -1.0 needs to be positive or zero"),
    ],
)
def test_options_out_of_range_raise(make, what):
    with pytest.raises(ValueError, match=what):
        make()


# Processors.


def test_a_variable_has_a_reference_processor_and_a_parameter_a_dense_one():
    w, p = Variable(1.0), ut.nn.Parameter(ut.ones(2))
    assert type(_get_processor(w)).__name__ == "_RefVariableProcessor" and _get_processor(w).target() is w
    assert type(_get_processor(p)).__name__ == type(_get_processor(ut.ones(1, requires_grad=True))).__name__ == "_DenseProcessor"
    with pytest.raises(NotImplementedError, match="unsupported type: float"):
        _get_processor(1.0)


@pytest.mark.parametrize("gate", [Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH])
def test_a_plain_tensor_can_be_differentiated_by_but_not_updated(gate):
    w = Variable([1.0, 2.0], name="w")
    h = w * 2
    opt = train.GradientDescentOptimizer(0.1)
    pairs = opt.compute_gradients((h * h).sum(), [h])
    assert pairs[0][0].tolist() == [4, 8]
    with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
        opt.apply_gradients(pairs)
    with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
        opt.minimize((h * h).sum(), var_list=[w, h], gate_gradients=gate)
    assert w.tolist() == [1, 2]  # raised before anything changed


def test_duplicate_rows_are_summed_before_the_update():
    table, dense = Variable(ut.ones(3, 1)), Variable(ut.ones(3, 1))
    rows = IndexedSlices(ut.tensor([[1.0], [2.0], [4.0]]), ut.tensor([2, 0, 2]), (3, 1))
    for opt in (train.AdagradOptimizer(0.5), train.MomentumOptimizer(0.5, 0.9), train.FtrlOptimizer(0.5)):
        opt.apply_gradients([(rows, table)])
        opt.apply_gradients([(rows.to_dense(), dense)])
        assert (table[ut.tensor([0, 2])] == dense[ut.tensor([0, 2])]).all()


def test_rows_update_a_modules_embedding():
    layer = ut.nn.Embedding(5, 2)
    before = layer.weight.detach().clone()
    train.GradientDescentOptimizer(1.0).minimize(layer(ut.tensor([3, 1, 3])).sum())
    changed = (layer.weight - before).detach()
    assert changed.tolist() == pytest.approx(np.array([[0, 0], [-1, -1], [0, 0], [-2, -2], [0, 0]]))


def test_rows_that_do_not_fit_raise():
    with pytest.raises(ValueError, match="rows of shape \\(3,\\)"):
        train.GradientDescentOptimizer(1.0).apply_gradients([(IndexedSlices(ut.ones(1, 3), ut.tensor([0])), Variable(ut.ones(2, 2)))])
    with pytest.raises(IndexError):
        train.GradientDescentOptimizer(1.0).apply_gradients([(IndexedSlices(ut.ones(1, 2), ut.tensor([5])), Variable(ut.ones(2, 2)))])


# Constraints.


def test_a_constraint_holds_after_every_update():
    w = Variable([1.0, -1.0], constraint=lambda v: v.clamp(min=0))
    opt = train.GradientDescentOptimizer(0.1)
    opt.minimize(w.sum() * 20)
    assert w.tolist() == [0, 0]
    w.assign([5.0, -5.0])
    assert w.tolist() == [5, -5]  # an assignment by the user is not constrained


def test_a_constraint_on_a_sparse_variable_raises():
    table = Variable(ut.ones(2, 1), constraint=lambda v: v)
    with pytest.raises(RuntimeError, match="Cannot use a constraint function on a sparse variable."):
        train.GradientDescentOptimizer(0.1).minimize(table[ut.tensor([0])].sum())
    with pytest.raises(ValueError, match="must be a callable"):
        Variable(1.0, constraint=3)


# Slots.


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_slots_have_names_and_belong_to_their_variable(kind):
    w, p = Variable([1.0, 2.0], name="w"), ut.nn.Parameter(ut.ones(3))
    opt = OPTIMIZERS[kind]()
    assert opt.get_name() == kind and opt.get_slot_names() == []
    opt.minimize((w * w).sum() + p.sum())
    assert opt.get_slot_names() == SLOTS[kind]
    names = [v.name for v in opt.variables()]
    assert len(set(names)) == len(names) == 2 * len(SLOTS[kind]) + 2 * (kind == "Adam")
    for slot in SLOTS[kind]:
        of_w = opt.get_slot(w, slot)
        assert of_w.shape == w.shape and of_w.name.startswith(f"w/{kind}") and not of_w.trainable and not of_w.requires_grad
        assert opt.get_slot(p, slot).shape == p.shape
        assert opt.get_slot(Variable(0.0), slot) is None
    assert opt.get_slot(w, "no such slot") is None


def test_slots_start_as_in_tensorflow():
    w = Variable(ut.zeros(2))
    for opt, slot, start in (
        (train.AdagradOptimizer(0.1), "accumulator", 0.1),
        (train.RMSPropOptimizer(0.1, decay=1.0), "rms", 1.0),
        (train.FtrlOptimizer(0.1), "accum", 0.1),
        (train.MomentumOptimizer(0.1, 0.5), "momentum", 0.0),
    ):
        opt.apply_gradients([(ut.zeros(2), w)])
        assert opt.get_slot(w, slot).tolist() == pytest.approx([start] * 2)


def test_ftrl_slots_have_the_given_names():
    w = Variable(1.0, name="w")
    opt = train.FtrlOptimizer(0.1, accum_name="sums", linear_name="line")
    opt.minimize(w * w)
    assert opt.get_slot(w, "accum").name == "w/sums" and opt.get_slot(w, "linear").name == "w/line"


def test_adam_counts_its_steps_in_powers_of_beta():
    w = Variable(1.0)
    opt = train.AdamOptimizer(0.1, beta1=0.5, beta2=0.75)
    for _ in range(2):
        opt.minimize(w * w)
    assert opt._get_non_slot_variable("beta1_power").item() == 0.125
    assert opt._get_non_slot_variable("beta2_power").item() == 0.75**3


# Learning rates.


@pytest.mark.parametrize("rate", [0.5, ut.tensor(0.5), lambda: 0.5, lambda: ut.tensor([0.5]), Variable(0.5)])
@pytest.mark.parametrize("kind", ["GradientDescent", "Adagrad", "Adam", "RMSProp", "Ftrl"])
def test_a_rate_may_be_a_tensor_or_a_function(rate, kind):
    given, plain = Variable([1.0, 2.0]), Variable([1.0, 2.0])
    make = getattr(train, f"{kind}Optimizer")
    make(rate).minimize((given * given).sum())
    make(0.5).minimize((plain * plain).sum())
    assert (given == plain).all()


def test_a_function_is_called_once_per_step():
    asked = []
    w, v = Variable(1.0), Variable(1.0)
    opt = train.MomentumOptimizer(lambda: asked.append(1) or 0.1, lambda: 0.9)
    opt.minimize(w * v)
    opt.minimize(w * v)
    assert len(asked) == 2


# The result.


@pytest.mark.parametrize("gate", [Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH])
def test_minimize_returns_an_operation_that_is_done_and_can_run_again(gate):
    w, step = Variable(8.0), Variable(0, trainable=False)
    opt = train.GradientDescentOptimizer(0.25)
    op = opt.minimize(lambda: w * w, global_step=step, gate_gradients=gate, name="halve")
    assert op.name == "halve" and w.item() == 4 and repr(op) == "<Operation 'halve', done>"
    op.run()
    assert w.item() == 2 and step.item() == 2
    done = opt.minimize(w * w, gate_gradients=gate)
    assert done.name == "GradientDescent" and w.item() == 1
    with pytest.raises(RuntimeError, match="already done and cannot run again: the loss was a tensor"):
        done.run()
    with pytest.raises(ValueError, match="no feed_dict and no session"):
        op.run(feed_dict={})
    applied = opt.apply_gradients([(ut.tensor(4.0), w)], name="apply")
    assert applied.name == "apply" and w.item() == 0
    with pytest.raises(RuntimeError, match="gradients are not kept"):
        applied.run()


def test_averages_return_an_operation():
    v = Variable(0.0, name="v")
    ema = train.ExponentialMovingAverage(0.5)
    ema.apply([v])
    v.assign(4.0)
    op = ema.apply([v])
    op.run()
    assert op.name == "ExponentialMovingAverage" and ema.average(v).item() == 3


def test_gradients_are_on_the_devices_of_their_variables():
    w = Variable(1.0)
    opt = train.GradientDescentOptimizer(0.25)
    for gate in (Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
        opt.minimize(w * w, colocate_gradients_with_ops=True, gate_gradients=gate)
    assert w.item() == 0.25
    assert opt.compute_gradients(w * w, colocate_gradients_with_ops=True)[0][0].device == w.device
    for call in (opt.minimize, opt.compute_gradients):
        with pytest.raises(TypeError, match="colocate_gradients_with_ops must be True or False, got 'cpu'"):
            call(w * w, colocate_gradients_with_ops="cpu")
    with pytest.raises(RuntimeError, match="the gradient of a tensor on cpu is on meta"):
        train._gradients.check_colocated([ut.ones((), device="meta")], [w])


# Variables.


def test_a_variable_is_a_leaf_with_its_own_memory():
    start = ut.tensor([1.0, 2.0])
    v = Variable(start, name="v")
    start.zero_()
    assert v.tolist() == [1, 2] and v.is_leaf and v.requires_grad and v.name == "v" and v.trainable
    assert type(v * 2) is ut.Tensor and isinstance(v, ut.nn.Parameter)
    assert Variable(lambda: [1, 2]).dtype == ut.int64 and not Variable(3).requires_grad
    assert Variable(1, dtype=ut.float64).dtype == ut.float64
    with pytest.raises(ValueError, match="initial_value must be specified"):
        Variable()


def test_unnamed_variables_get_unique_names():
    names = [Variable(0.0).name for _ in range(3)]
    assert len(set(names)) == 3 and all(n.startswith("Variable") for n in names)


def test_assignments_change_the_value_in_place_and_are_not_recorded():
    v = Variable([1.0, 2.0])
    memory = v.data_ptr()
    assert v.assign([3.0, 4.0]) is v and v.assign_add(ut.ones(2)) is v and v.assign_sub([1.0, 0.0]) is v
    assert v.tolist() == [3, 5] and v.data_ptr() == memory and v.is_leaf
    with pytest.raises(ValueError, match="assign_add: shapes must be equal: variable .* has shape \\(2,\\), the value \\(3,\\)"):
        v.assign_add([1.0, 2.0, 3.0])
    g = train.gradients(v.value() * 3, v)[0]
    assert g.tolist() == [3, 3]


def test_rows_of_a_variable_can_be_written():
    v = Variable(ut.ones(3, 1))
    rows = IndexedSlices(ut.tensor([[1.0], [2.0]]), ut.tensor([0, 0]))
    v.scatter_add(rows)
    assert v.tolist() == [[4], [1], [1]]
    v.scatter_sub(rows)
    v.scatter_update(IndexedSlices(ut.tensor([[9.0]]), ut.tensor([2])))
    assert v.tolist() == [[1], [1], [9]]


def test_variables_copy_and_pickle():
    v = Variable([1.0], name="v", trainable=False)
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert type(other) is Variable and other.name == "v" and not other.trainable and other.tolist() == [1]
        other.assign([2.0])
    assert v.tolist() == [1]


def test_a_variable_in_a_module_is_its_parameter():
    module = ut.nn.Module()
    module.w = Variable([1.0], name="w")
    assert dict(module.named_parameters())["w"] is module.w


def test_the_example_learns(capsys):
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples/minimize.py"))
    assert example["main"]() == 0
    assert "600/600" in capsys.readouterr().out
