"""Modules, optimizers and schedules of the C++ API equal their Python classes, bit for bit, and read and write the same files.

The C++ side is tests/cpp/frontend/test_nn_state.cpp; a build with UNDERTOW_TESTS has it.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess

import pytest
from frontend_programs import frontend_program

import undertow as ut
from undertow import nn, optim


def numbers(*size: int) -> ut.Tensor:
    count = 1
    for s in size:
        count *= s
    return ut.linspace(-2, 2, count).reshape(size)


def called(make, *size):
    return make, lambda module: module(numbers(*size))


def recurrent(make, *size):
    return make, lambda module: module(numbers(*size))[0]


def attended(module):
    x = numbers(5, 2, 8)
    return module(x, x, x)[0]


def mlp():
    a, b, c = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 2)
    return nn.Sequential(a, nn.GELU(), nn.Dropout(0.4), b, nn.SiLU(), nn.AlphaDropout(0.3), c)


def cnn():
    a, b, c = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(16, 2)
    return nn.Sequential(a, b, nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.3), nn.AdaptiveAvgPool2d(2), nn.Flatten(), c)


def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8))


CASES = {
    "linear": called(lambda: nn.Linear(5, 3), 4, 5),
    "bilinear": (lambda: nn.Bilinear(3, 4, 2), lambda m: m(numbers(5, 3), numbers(5, 4))),
    "conv1d": called(lambda: nn.Conv1d(4, 6, 3, padding=1, groups=2), 2, 4, 9),
    "conv2d": called(lambda: nn.Conv2d(3, 4, (3, 2), stride=2), 2, 3, 8, 7),
    "conv2d_same": called(lambda: nn.Conv2d(3, 4, 3, padding="same"), 2, 3, 6, 6),
    "conv2d_reflect": called(lambda: nn.Conv2d(3, 4, 3, padding=(1, 2), padding_mode="reflect"), 2, 3, 6, 6),
    "conv3d": called(lambda: nn.Conv3d(2, 3, 2, bias=False), 1, 2, 4, 4, 4),
    "conv_transpose2d": called(lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), 2, 3, 5, 5),
    "batch_norm1d": called(lambda: nn.BatchNorm1d(4), 6, 4),
    "batch_norm2d": called(lambda: nn.BatchNorm2d(3, momentum=None), 2, 3, 4, 4),
    "instance_norm": called(lambda: nn.InstanceNorm2d(3, affine=True), 2, 3, 4, 4),
    "layer_norm": called(lambda: nn.LayerNorm((3, 4)), 2, 3, 4),
    "rms_norm": called(lambda: nn.RMSNorm(4), 2, 3, 4),
    "group_norm": called(lambda: nn.GroupNorm(2, 4), 2, 4, 5),
    "local_response_norm": called(lambda: nn.LocalResponseNorm(3), 2, 4, 5),
    "embedding": (lambda: nn.Embedding(7, 3, padding_idx=-2), lambda m: m(ut.arange(12).reshape(3, 4) % 7)),
    "prelu": called(lambda: nn.PReLU(4), 2, 4),
    "mlp": called(mlp, 5, 4),
    "cnn": called(cnn, 2, 3, 12, 12),
    "rnn": recurrent(lambda: nn.RNN(3, 4, num_layers=2, nonlinearity="relu", dropout=0.3), 5, 2, 3),
    "lstm": recurrent(lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2), 2, 5, 3),
    "lstm_projected": recurrent(lambda: nn.LSTM(3, 4, proj_size=2), 5, 2, 3),
    "gru": recurrent(lambda: nn.GRU(3, 4, bidirectional=True), 5, 2, 3),
    "gru_cell": called(lambda: nn.GRUCell(3, 4), 2, 3),
    "attention": (lambda: nn.MultiheadAttention(8, 2, dropout=0.2, add_bias_kv=True, add_zero_attn=True), attended),
    "attention_separate": (
        lambda: nn.MultiheadAttention(8, 2, kdim=6, vdim=4, batch_first=True),
        lambda m: m(numbers(2, 5, 8), numbers(2, 3, 6), numbers(2, 3, 4), need_weights=False)[0],
    ),
    "encoder_layer": called(lambda: nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True), 5, 2, 8),
    "encoder": (encoder, lambda m: m(numbers(5, 2, 8), nn.Transformer.generate_square_subsequent_mask(5))),
    "transformer": (lambda: nn.Transformer(8, 2, 1, 2, 16), lambda m: m(numbers(5, 2, 8), numbers(4, 2, 8))),
}

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01),
    "sgd_momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, maximize=True),
    "adam": lambda p: optim.Adam(p, lr=0.1, amsgrad=True, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.1, betas=(0.8, 0.95)),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.05, centered=True, momentum=0.5),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2),
    "lbfgs": lambda p: optim.LBFGS(p, lr=0.3, max_iter=4, history_size=3),
    "lbfgs_wolfe": lambda p: optim.LBFGS(p, max_iter=3, line_search_fn="strong_wolfe"),
}


def sequential(o):
    s = optim.lr_scheduler
    return s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.CosineAnnealingLR(o, 8)], [4])


SCHEDULES = {
    "step": lambda o: optim.lr_scheduler.StepLR(o, 3, 0.5),
    "multi_step": lambda o: optim.lr_scheduler.MultiStepLR(o, [2, 5, 5], 0.3),
    "constant": lambda o: optim.lr_scheduler.ConstantLR(o, 0.25, 4),
    "linear": lambda o: optim.lr_scheduler.LinearLR(o, 0.25, 0.75, 6),
    "exponential": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.9),
    "polynomial": lambda o: optim.lr_scheduler.PolynomialLR(o, 7, 2.0),
    "cosine": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 5, 0.01),
    "restarts": lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "one_cycle": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.5, 12),
    "lambda": lambda o: optim.lr_scheduler.LambdaLR(o, lambda k: 1.0 / (k + 1)),
    "multiplicative": lambda o: optim.lr_scheduler.MultiplicativeLR(o, lambda _: 0.8),
    "sequential": sequential,
}


def results(module, run):
    ut.manual_seed(7)
    out = run(module)
    if out.requires_grad:
        (out * out).sum().backward()
    return {"out": out.detach(), **{name: p.grad for name, p in module.named_parameters() if p.grad is not None}}


def parameters():
    return [numbers(5).requires_grad_(), numbers(2, 3).requires_grad_()]


def take_steps(optimizer, p, count):
    def closure():
        optimizer.zero_grad()
        loss = (p[0] - 1).pow(4).sum() + (p[1] * p[1]).sum().sin()
        loss.backward()
        return loss

    for _ in range(count):
        optimizer.step(closure)


def assert_same(a, b, where="value"):
    if isinstance(a, ut.Tensor):
        assert a.dtype == b.dtype and a.shape == b.shape and ut.equal(a, b), where
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{k}]")
    else:
        assert a == b, where


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What C++ wrote, what Python writes for it, and what C++ computes from that."""
    where = tmp_path_factory.mktemp("cpp")
    cpp = frontend_program("test_nn_state")
    for name, (make, _) in CASES.items():
        ut.manual_seed(23)
        ut.save(make().state_dict(), where / f"{name}.python.pt")
    for name, make in OPTIMIZERS.items():
        p = parameters()
        optimizer = make(p)
        take_steps(optimizer, p, 2)
        ut.save(optimizer.state_dict(), where / f"{name}.optimizer.python.pt")
    for what in ("write", "read"):
        subprocess.run([cpp, what, where], check=True, timeout=120)
    return where


@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_parameters_output_and_gradients(folder, name):
    make, run = CASES[name]
    ut.manual_seed(11)
    module = make()
    state = ut.load(folder / f"{name}.pt")
    assert_same(dict(module.state_dict()), dict(state))
    assert_same(results(module, run), ut.load(folder / f"{name}.results.pt"))
    other = make()
    other.load_state_dict(state)


@pytest.mark.parametrize("name", CASES)
def test_cpp_loads_a_module_that_python_saved(folder, name):
    make, run = CASES[name]
    module = make()
    module.load_state_dict(ut.load(folder / f"{name}.python.pt"))
    assert_same(results(module, run), ut.load(folder / f"{name}.loaded.pt"))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_take_the_same_steps_and_share_their_state_dicts(folder, name):
    p = parameters()
    optimizer = OPTIMIZERS[name](p)
    take_steps(optimizer, p, 3)
    assert_same([t.detach() for t in p], ut.load(folder / f"{name}.parameters.pt"))
    state = ut.load(folder / f"{name}.optimizer.pt")
    assert_same(sorted_state(optimizer.state_dict()), sorted_state(state))
    q = [t.detach().clone().requires_grad_() for t in p]
    other = OPTIMIZERS[name](q)
    other.load_state_dict(state)
    take_steps(optimizer, p, 2)
    take_steps(other, q, 2)
    assert_same(p, q)


def sorted_state(state):
    """The state of each parameter by key: L-BFGS creates its values in another order."""
    return {"state": {k: dict(sorted(v.items())) for k, v in state["state"].items()}, "param_groups": state["param_groups"]}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_cpp_continues_from_a_state_that_python_saved(folder, name):
    p = parameters()
    optimizer = OPTIMIZERS[name](p)
    optimizer.load_state_dict(ut.load(folder / f"{name}.optimizer.python.pt"))
    take_steps(optimizer, p, 2)
    assert_same([t.detach() for t in p], ut.load(folder / f"{name}.loaded.pt"))


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_have_the_same_rates(folder, name):
    found = ut.load(folder / "rates.pt")
    optimizer = OPTIMIZERS["sgd_momentum"](parameters())
    schedule = SCHEDULES[name](optimizer)
    rates = []
    for _ in range(12):
        rates += [optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]]
        schedule.step()
    assert rates == found[name]
    other = SCHEDULES[name](OPTIMIZERS["sgd_momentum"](parameters()))
    if name not in ("lambda", "multiplicative"):  # their functions are not in the file
        other.load_state_dict(found[name + ".state"])
        assert (other.last_epoch, other.get_last_lr()) == (schedule.last_epoch, schedule.get_last_lr())


def test_the_gpt_of_the_examples_has_the_losses_of_the_demo(repository):
    out = subprocess.run(
        [frontend_program("test_gpt"), "--steps", "3", "--text", repository / "examples/data/sonnets.txt"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    spec = importlib.util.spec_from_file_location("demo", repository / "examples/demo.py")
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    shown = []
    demo.bar = lambda done, total, text, start: shown.append((done, text))
    ut.manual_seed(1609)
    text = demo.TEXT.read_text()
    letters = sorted(set(text))
    data = ut.tensor([letters.index(c) for c in text])
    model = demo.Gpt(len(letters))
    cut = len(data) * 9 // 10
    demo.unread_loss(model, data[cut:])
    demo.train(model, data[:cut], data[cut:], 3)
    found = re.findall(r"(\d)/3 loss ([\d.]+), on unread text ([\d.]+)", out)
    assert [(int(k), f"loss {float(a):.3f}, on unread text {float(b):.3f}") for k, a, b in found] == shown
    assert demo.write(model, letters, "When ", 400) in out
