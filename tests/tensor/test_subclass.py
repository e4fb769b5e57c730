"""Subclasses of Tensor: creation, lifetime, copies."""

import copy
import gc
import pickle
import weakref

import pytest

import undertow as ut


class Tagged(ut.Tensor):
    tag = "none"


class Slotted(ut.Tensor):
    __slots__ = ("extra",)


class Plain(ut.Tensor):
    __torch_function__ = ut._C._disabled_torch_function_impl


def test_a_subclass_can_be_created_in_several_ways():
    t = Tagged([1.0, 2.0])
    assert type(t) is Tagged and t.tolist() == [1, 2]
    base = ut.ones(2)
    view = base.as_subclass(Tagged)
    assert view.data_ptr() == base.data_ptr() and type(base) is ut.Tensor
    leaf = ut.Tensor._make_subclass(Tagged, base, True)
    assert leaf.requires_grad and leaf.is_leaf and leaf.data_ptr() == base.data_ptr()
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        base.as_subclass(int)
    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        ut.Tensor._make_wrapper_subclass(Tagged, (2,))


def test_init_and_new_may_have_their_own_arguments():
    class Meter(ut.Tensor):
        def __new__(cls, data, unit):
            return ut.tensor(data).as_subclass(cls)

        def __init__(self, data, unit):
            self.unit = unit

    m = Meter([1.0], "m")
    assert m.unit == "m" and type(m) is Meter


def test_a_subclass_survives_in_the_graph():
    x = ut.Tensor._make_subclass(Tagged, ut.ones(2), True)
    x.tag = "mine"
    ident = id(x)
    with ut.overrides.DisableTorchFunctionSubclass():
        y = x * x
    del x
    gc.collect()
    saved = y.grad_fn._saved_self
    assert type(saved) is Tagged and saved.tag == "mine" and id(saved) == ident
    assert y.grad_fn.next_functions[0][0].variable is saved


def test_slots_survive_and_are_freed():
    class Probe: ...

    x = ut.Tensor._make_subclass(Slotted, ut.ones(2), True)
    x.extra = Probe()
    ref = weakref.ref(x.extra)
    with ut.overrides.DisableTorchFunctionSubclass():
        y = x * x
    del x
    assert ref() is not None and y.grad_fn._saved_self.extra is ref()
    del y
    gc.collect()
    assert ref() is None


def test_del_runs_once_when_the_tensor_is_gone():
    gone = []

    class Watched(ut.Tensor):
        def __del__(self):
            gone.append(1)

    x = ut.Tensor._make_subclass(Watched, ut.ones(2), True)
    with ut.overrides.DisableTorchFunctionSubclass():
        y = x * x
    del x
    assert not gone
    del y
    gc.collect()
    assert gone == [1]


def test_del_may_keep_the_tensor():
    kept = []

    class Stubborn(ut.Tensor):
        def __del__(self):
            kept.append(self)

    x = ut.ones(2).as_subclass(Stubborn)
    del x
    assert len(kept) == 1 and kept[0].tolist() == [1, 1]
    kept.clear()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_keep_class_and_attributes(copied):
    x = Plain([1.0, 2.0])
    x.note = {"a": [1]}
    y = copied(x)
    assert type(y) is Plain and y.note == {"a": [1]} and y.tolist() == [1, 2]


def test_the_repr_names_the_class():
    assert repr(Plain([1.0])) == "Plain([1.])"


def test_parameters_may_be_subclassed():
    class Weight(ut.nn.Parameter): ...

    w = Weight(ut.ones(1))
    assert type(w) is Weight and w.requires_grad and type(w * 2) is ut.Tensor and isinstance(w, ut.nn.Parameter)


def test_a_parameter_made_from_a_subclass_keeps_the_class():
    class Marked(ut.Tensor): ...

    p = ut.nn.Parameter(Marked(ut.ones(2)))
    assert type(p) is Marked and isinstance(p, ut.nn.Parameter) and p.requires_grad and p.is_leaf
    assert not isinstance(Marked(ut.ones(2)), ut.nn.Parameter)
    module = ut.nn.Module()
    module.p = p
    assert list(module.state_dict()) == ["p"] and type(module.double().p) is Marked and module.p.dtype is ut.float64


def test_a_parameter_of_a_class_whose_detach_leaves_the_class_is_refused():
    class Plain(ut.Tensor):
        __torch_function__ = ut._C._disabled_torch_function_impl

    with pytest.raises(RuntimeError, match=r"requires that detach\(\) returns an instance of the same type"):
        ut.nn.Parameter(Plain(ut.ones(2)))


HISTORIES = {
    "history": lambda lib: lib.ones(2, requires_grad=True) * 2,
    "a leaf": lambda lib: lib.ones(2, requires_grad=True),
    "a parameter": lambda lib: lib.nn.Parameter(lib.ones(2)),
    "no history": lambda lib: lib.ones(2),
    "float64": lambda lib: lib.ones(2, dtype=lib.float64),
}


@pytest.mark.parametrize("source", HISTORIES)
@pytest.mark.parametrize("grad", [True, False])
def test_a_tensor_constructed_from_a_tensor_is_a_view_with_its_history(same_as_torch, source, grad):
    def scenario(lib):
        class Own(lib.Tensor):
            pass

        t = HISTORIES[source](lib)
        with lib.set_grad_enabled(grad):
            made = [lib.Tensor(t), Own(t), t.new(t)]
        kinds = [(type(m).__name__, str(m.dtype), m._is_view(), m._base is t, m.requires_grad, m.is_leaf) for m in made]
        if t.requires_grad and grad:
            kinds.append(lib.autograd.grad(sum((m * k).sum() for k, m in enumerate(made, 1)), t))
        else:
            lib.Tensor(t.detach()).add_(1)
        return kinds, t, t._version

    same_as_torch(scenario)
