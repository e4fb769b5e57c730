"""Training that is stopped at any step, saved in any way and resumed by a new program continues bit for bit."""

from __future__ import annotations

import copy
import pickle

import pytest

import undertow as ut
from undertow import train

STEPS = 8
RATE = 0.1
OPTIMIZERS = {
    "descent": lambda rate, step: train.GradientDescentOptimizer(rate),
    "momentum": lambda rate, step: train.MomentumOptimizer(rate, 0.9),
    "nesterov": lambda rate, step: train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    "adagrad": lambda rate, step: train.AdagradOptimizer(rate),
    "adadelta": lambda rate, step: train.AdadeltaOptimizer(rate),
    "adam": lambda rate, step: train.AdamOptimizer(rate),
    "rmsprop": lambda rate, step: train.RMSPropOptimizer(rate, momentum=0.5),
    "rmsprop, centered": lambda rate, step: train.RMSPropOptimizer(rate, momentum=0.5, centered=True),
    "ftrl": lambda rate, step: train.FtrlOptimizer(rate, l1_regularization_strength=0.01),
    "proximal descent": lambda rate, step: train.ProximalGradientDescentOptimizer(rate, 0.01, 0.02),
    "proximal adagrad": lambda rate, step: train.ProximalAdagradOptimizer(rate, 0.1, 0.01, 0.02),
    "adagrad with dual averaging": lambda rate, step: train.AdagradDAOptimizer(rate, step, 0.1, 0.01, 0.02),
}
DECAYS = {
    "exponential": lambda step: train.exponential_decay(RATE, step, 3, 0.7),
    "natural": lambda step: train.natural_exp_decay(RATE, step, 3, 0.7, staircase=True),
    "inverse time": lambda step: train.inverse_time_decay(RATE, step, 3, 0.7),
    "polynomial": lambda step: train.polynomial_decay(RATE, step, 3, cycle=True),
    "piecewise": lambda step: train.piecewise_constant(step, [2, 5], [RATE, RATE / 2, RATE / 4]),
    "cosine": lambda step: train.cosine_decay(RATE, step, 6),
    "cosine with restarts": lambda step: train.cosine_decay_restarts(RATE, step, 2),
    "linear cosine": lambda step: train.linear_cosine_decay(RATE, step, 6),
}


class Program:
    """A table of which each step uses some rows, a dense variable, a decayed rate, and moving averages of both."""

    def __init__(self, kind, decay="exponential"):
        self.table = train.Variable(ut.arange(12.0).reshape(6, 2) / 7, name="table")
        self.w = train.Variable([0.3, -0.7], name="w", dtype=ut.float64)
        self.step = train.Variable(0, name="global_step", trainable=False)
        self.opt = OPTIMIZERS[kind](DECAYS[decay](self.step), self.step)
        self.ema = train.ExponentialMovingAverage(0.9, num_updates=self.step)

    def advance(self):
        t = int(self.step)
        rows = ut.nn.functional.embedding(ut.tensor([t % 5, (3 * t) % 5, 1]), self.table)
        loss = ((rows.double() * self.w).sum() - t / 3) ** 2 / 20 + (self.w**2).sum() / (t + 1)
        self.opt.minimize(loss, global_step=self.step)
        self.ema.apply([self.table, self.w])

    def values(self):
        state = {v.name: v.tolist() for v in [self.table, self.w, self.step, *self.opt.variables()]}
        return state | {v.name: v.tolist() for v in (self.ema.average(self.table), self.ema.average(self.w)) if v is not None}

    def objects(self):
        return {"table": self.table, "w": self.w, "step": self.step, "opt": self.opt, "ema": self.ema}

    def take(self, objects):
        vars(self).update(objects)
        return self


def by_pickle(program, fresh, folder):
    return fresh.take(pickle.loads(pickle.dumps(program.objects())))


def by_deepcopy(program, fresh, folder):
    return fresh.take(copy.deepcopy(program.objects()))


def by_file(program, fresh, folder):
    ut.save(program.objects(), folder / "all.pt")
    with pytest.warns(UserWarning, match="a pickle can run any code"):
        return fresh.take(ut.load(folder / "all.pt", weights_only=False))


def by_state_dict(program, fresh, folder):
    state = {"variables": {"table": program.table, "w": program.w, "step": program.step}}
    ut.save(state | {"opt": program.opt.state_dict(), "ema": program.ema.state_dict()}, folder / "state.safetensors")
    state = ut.load(folder / "state.safetensors")
    for name, value in state["variables"].items():
        getattr(fresh, name).assign(value)
    fresh.opt.load_state_dict(state["opt"])
    fresh.ema.load_state_dict(state["ema"])
    return fresh


def by_saver(program, fresh, folder):
    path = train.Saver(list(program.objects().values())).save(folder / "model.ckpt", program.step)
    train.Saver(list(fresh.objects().values())).restore(path)
    return fresh


def by_checkpoint(program, fresh, folder):
    path = train.Checkpoint(**program.objects()).save(folder / "model")
    status = train.Checkpoint(**fresh.objects()).restore(path).assert_existing_objects_matched()
    fresh.status = status
    return fresh


WAYS = (by_pickle, by_deepcopy, by_file, by_state_dict, by_saver, by_checkpoint)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_every_optimizer_resumes_bit_for_bit(kind, tmp_path):
    program, whole = Program(kind), []
    saved = {}
    for t in range(STEPS + 1):
        whole.append(program.values())
        if t in (0, 1, 5):
            saved[t] = {way: way(program, Program(kind), tmp_path) for way in WAYS}
        program.advance()
    for t, ways in saved.items():
        for way, resumed in ways.items():
            assert int(resumed.step) == t
            while int(resumed.step) < STEPS:
                resumed.advance()
            assert resumed.values() == whole[STEPS], (way.__name__, t)
            if way is by_checkpoint:
                resumed.status.assert_consumed()


@pytest.mark.parametrize("decay", DECAYS)
def test_every_decay_resumes_bit_for_bit(decay, tmp_path):
    program = Program("momentum", decay)
    program.advance()
    resumed = [way(program, Program("momentum", decay), tmp_path) for way in (by_pickle, by_saver)]
    for _ in range(4):
        for p in (program, *resumed):
            p.advance()
    assert program.values() == resumed[0].values() == resumed[1].values()


@pytest.mark.parametrize("way", [by_saver, by_checkpoint, by_state_dict])
def test_a_program_can_go_back_to_its_own_earlier_state(way, tmp_path):
    program, first = Program("adam"), []
    for _ in range(4):
        first.append(program.values())
        program.advance()
    start = Program("adam")  # one without slots: they must get their initial values, too
    way(start, program, tmp_path)
    assert int(program.step) == 0 and not program.opt.variables()
    for t in range(4):
        assert program.values() == first[t]
        program.advance()


def test_moving_averages_without_bias_resume_by_state_dict():
    def average(decay=0.8):
        return train.ExponentialMovingAverage(decay, zero_debias=True)

    one, other, t = average(), average(), ut.tensor([1.0, 2.0])
    for _ in range(3):
        one.apply([t])
    with pytest.raises(ValueError, match="has no name; pass var_list"):
        one.state_dict()
    other.load_state_dict(one.state_dict([t]), [t])
    for ema in (one, other):
        ema.apply([t])
    assert (one.average(t) == other.average(t)).all() and one.average(t).tolist() == pytest.approx([1.0, 2.0])


def test_state_of_a_modules_parameters_is_saved_under_names_that_are_given(tmp_path):
    def step(layer, opt):
        opt.minimize((layer(ut.ones(2)) ** 2).sum())

    ut.manual_seed(0)
    layer, opt = ut.nn.Linear(2, 2), train.AdamOptimizer(0.1)
    step(layer, opt)
    with pytest.raises(ValueError, match="state_dict: there is a slot of <Parameter .*pass var_list"):
        opt.state_dict()
    names = dict(layer.named_parameters())
    ut.save({"layer": layer.state_dict(), "opt": opt.state_dict(names)}, tmp_path / "state.pt")
    state = ut.load(tmp_path / "state.pt")  # the safe reader suffices
    other, new = ut.nn.Linear(2, 2), train.AdamOptimizer(0.1)
    other.load_state_dict(state["layer"])
    new.load_state_dict(state["opt"], dict(other.named_parameters()))
    step(layer, opt)
    step(other, new)
    assert (layer.weight == other.weight).all() and (layer.bias == other.bias).all()
    with pytest.raises(ValueError, match="slots of variables that var_list does not name: \\['bias'\\]"):
        new.load_state_dict(state["opt"], {"weight": other.weight})


def test_a_state_that_does_not_fit_raises_and_changes_nothing():
    w = train.Variable([1.0, 2.0], name="w")
    opt = train.MomentumOptimizer(0.1, 0.9)
    opt.minimize((w * w).sum())
    state = copy.deepcopy(opt.state_dict())
    with pytest.raises(ValueError, match="the state is one of MomentumOptimizer, this is a AdamOptimizer"):
        train.AdamOptimizer(0.1).load_state_dict(state)
    with pytest.raises(ValueError, match="expected the dict that state_dict"):
        opt.load_state_dict({"slots": {}})
    state["slots"]["momentum"]["w"] = 3.0
    with pytest.raises(ValueError, match="the value of 'w' is a float, not a tensor"):
        opt.load_state_dict(state)
    state["slots"]["momentum"]["w"] = ut.zeros(3)
    with pytest.raises(ValueError, match="the saved value has shape \\(3,\\)"):
        opt.load_state_dict(state)
    state["slots"]["momentum"]["w"] = ut.zeros(2, dtype=ut.float64)
    with pytest.raises(ValueError, match="dtype undertow.float64"):
        opt.load_state_dict(state)
    assert opt.get_slot(w, "momentum").tolist() == [2, 4]
    late = train.MomentumOptimizer(0.1, 0.9)
    late.load_state_dict(state)
    with pytest.raises(ValueError, match="slot 'momentum': the saved value has"):
        late.minimize((w * w).sum())


def test_two_variables_of_one_name_need_other_names_in_a_state_dict():
    a, b = train.Variable(1.0, name="w"), train.Variable(2.0, name="w")
    opt = train.MomentumOptimizer(0.1, 0.9)
    opt.minimize(a * b)
    with pytest.raises(ValueError, match="two variables are named 'w'"):
        opt.state_dict()
    assert set(opt.state_dict([a, b])["slots"]["momentum"]) == {"0", "1"}


def test_a_variable_loads_with_the_safe_reader(tmp_path):
    v = train.Variable([1.0, 2.0], name="v", trainable=False)
    ut.save({"v": v, "same": v}, tmp_path / "v.pt")
    loaded = ut.load(tmp_path / "v.pt")
    assert type(loaded["v"]) is train.Variable and loaded["v"] is loaded["same"]
    assert loaded["v"].name == "v" and not loaded["v"].trainable and loaded["v"].requires_grad and loaded["v"].tolist() == [1, 2]
    ut.save(train.Variable(1.0, constraint=ut.relu), tmp_path / "constrained.pt")
    with pytest.raises(pickle.UnpicklingError):
        ut.load(tmp_path / "constrained.pt")


def test_an_optimizer_that_waits_for_a_state_dict_can_be_copied():
    w = train.Variable(1.0, name="w")
    opt = train.MomentumOptimizer(0.1, 0.9)
    opt.minimize(w * w)
    late = train.MomentumOptimizer(0.1, 0.9)
    late.load_state_dict(opt.state_dict())
    copied = pickle.loads(pickle.dumps(late))
    copied.minimize(w * 0)
    assert copied.get_slot(w, "momentum").item() == pytest.approx(0.9 * 2)
