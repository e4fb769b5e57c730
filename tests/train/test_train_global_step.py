"""The global step of the process, and the list of its variables."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import train


@pytest.fixture(autouse=True)
def own_graph():
    train.reset_default_graph()
    yield
    train.reset_default_graph()


def test_the_global_step_is_created_once_and_found_again():
    assert train.get_global_step() is None
    step = train.create_global_step()
    assert step.name == "global_step" and step.dtype == ut.int64 and step.item() == 0 and not step.trainable
    assert train.get_global_step() is step and train.get_or_create_global_step() is step
    with pytest.raises(ValueError, match='"global_step" already exists'):
        train.create_global_step()
    train.reset_default_graph()
    assert train.get_global_step() is None and train.get_or_create_global_step() is not step


def test_a_variable_of_that_name_is_the_global_step():
    own = train.Variable(3, name="global_step", trainable=False)
    assert train.get_global_step() is own
    second = train.Variable(4, name="global_step", trainable=False)
    with pytest.raises(ValueError, match='2 variables are named "global_step"'):
        train.get_global_step()
    del second
    assert train.get_or_create_global_step() is own
    del own
    wrong = train.Variable(0.5, name="global_step")
    with pytest.raises(TypeError, match="does not have integer type"):
        train.get_global_step()
    assert wrong.item() == 0.5


def test_assert_global_step_says_what_is_wrong():
    train.assert_global_step(ut.tensor(1))
    train.assert_global_step(train.Variable(1, dtype=ut.int32))
    for wrong, what in ((3, "must be a Variable or Tensor"), (ut.tensor(1.0), "integer type"), (ut.tensor([1]), "is not scalar")):
        with pytest.raises(TypeError, match=what):
            train.assert_global_step(wrong)
    for function in (train.get_global_step, train.create_global_step, train.get_or_create_global_step):
        with pytest.raises(ValueError, match="no graphs to choose from"):
            function(object())


def test_variables_are_listed_as_long_as_the_program_holds_them():
    a, b = train.Variable(1.0, name="net/a"), train.Variable(1.0, name="b")
    opt = train.MomentumOptimizer(0.1, 0.9)
    opt.minimize(a * b)
    assert sorted(v.name for v in train.global_variables()) == ["b", "b/Momentum", "net/a", "net/a/Momentum"]
    assert [v.name for v in train.global_variables("net/")] == ["net/a", "net/a/Momentum"]
    del opt, b
    assert [v.name for v in train.global_variables()] == ["net/a"]
