"""The meta device: tensors with shape, dtype and strides but without memory, and modules on it."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import undertow as ut
from undertow import nn


def test_a_factory_creates_tensors_on_the_given_device():
    for made in (
        ut.empty(2, device="meta"), ut.zeros(2, device="meta"), ut.ones(2, device="meta"), ut.full((2,), 3.0, device="meta"),
        ut.arange(2, device="meta"), ut.linspace(0, 1, 2, device="meta"), ut.eye(2, device="meta")[0], ut.rand(2, device="meta"),
        ut.randn(2, device="meta"), ut.randint(5, (2,), device="meta"), ut.randperm(2, device="meta"), ut.tensor([1, 2], device="meta"),
        ut.as_tensor([1, 2], device="meta"), ut.empty_strided((2,), (3,), device="meta"),
    ):  # fmt: skip
        assert made.device == ut.device("meta") and made.is_meta and not made.is_cpu
        assert made.shape == (2,) and made.data_ptr() == 0


def test_a_device_as_context_manager_is_the_default_of_factories():
    with ut.device("meta"):
        assert ut.zeros(2).is_meta and ut.tensor([1.0]).is_meta and ut.randn(3).is_meta
        with ut.device("cpu"):
            assert ut.zeros(2).is_cpu
        assert ut.arange(3).is_meta
        assert ut.zeros(2, device="cpu").is_cpu
        assert ut.zeros_like(ut.zeros(2, device="cpu")).is_cpu  # follows its argument, not the context
    assert ut.zeros(2).is_cpu


def test_the_context_is_left_after_an_error():
    with pytest.raises(ValueError, match="inside"), ut.device("meta"):
        raise ValueError("inside")
    assert ut.zeros(1).is_cpu


def test_the_default_device_is_set_and_unset():
    ut.set_default_device("meta")
    try:
        assert ut.zeros(2).is_meta and ut.get_default_device() == ut.device("meta")
    finally:
        ut.set_default_device(None)
    assert ut.zeros(2).is_cpu and ut.get_default_device() == ut.device("cpu")


def test_operations_record_and_differentiate_without_memory():
    x = ut.ones(2, 3, device="meta", requires_grad=True)
    y = (x * 2 + x.exp()).t().contiguous()
    assert y.shape == (3, 2) and y.stride() == (2, 1) and y.is_meta
    y.sum().backward()
    assert x.grad.shape == (2, 3) and x.grad.is_meta


def test_second_derivatives_on_meta():
    x = ut.ones(3, device="meta", requires_grad=True)
    (g,) = ut.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = ut.autograd.grad(g.sum(), x)
    assert h.shape == (3,) and h.is_meta


def test_what_must_read_an_element_raises():
    x = ut.ones(2, device="meta")
    for read, error, text in (
        (lambda: x[0].item(), RuntimeError, "cannot be called on meta tensors"),
        (lambda: bool(x[0]), RuntimeError, "cannot be called on meta tensors"),
        (lambda: x.tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda: x.cpu(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda: ut.ones(2).copy_(x), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda: x.numpy(), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda: x.__dlpack__(), BufferError, "Cannot pack tensors on meta"),
        (lambda: x.share_memory_(), RuntimeError, "only available on CPU"),
        (lambda: memoryview(x.untyped_storage()), BufferError, "no bytes"),
        (lambda: x.untyped_storage()[0], NotImplementedError, "Not available for 'meta'"),
    ):
        with pytest.raises(error, match=text):
            read()


def test_a_shape_that_depends_on_elements_names_operator_and_device():
    x = ut.ones(2, device="meta")
    for name, call in (("nonzero", lambda: ut.nonzero(x)), ("masked_select", lambda: x.masked_select(x > 0)), ("unique", lambda: ut.unique(x))):
        with pytest.raises(NotImplementedError, match=f"Could not run '_?{name}.*'meta' backend"):
            call()


def test_sizes_that_are_given_need_no_elements(same_as_torch):
    def run(L):
        mask, source = L.zeros(2, 3, dtype=L.bool, device="meta"), L.zeros(8, device="meta").requires_grad_()
        self = L.zeros(2, 3, device="meta").requires_grad_()
        self.masked_scatter(mask, source).sum().backward()
        found = [L.nonzero_static(t, size=4) for t in (mask, self.detach(), L.zeros((), device="meta"), L.zeros(2, 0, device="meta"))]
        return [(list(t.shape), str(t.dtype).split(".")[1], t.device.type) for t in (self.grad, source.grad, *found)]

    same_as_torch(run)


def test_the_gradient_of_a_draws_probabilities_is_beside_them():
    p = ut.full((3,), 0.5, device="meta").requires_grad_()
    ut.zeros(3, device="meta").bernoulli_(p).sum().backward()
    assert p.grad.is_meta and p.grad.shape == (3,)


def test_operands_must_be_on_one_device():
    x = ut.ones(2, device="meta")
    with pytest.raises(RuntimeError, match=r"Tensor on device cpu is not on the expected device meta! \(add\)"):
        x + ut.ones(2)
    assert (x + ut.tensor(1.0)).is_meta  # a zero-dimensional CPU tensor may be combined with any other
    assert (ut.tensor(2.0) * x).is_meta
    assert x.copy_(ut.ones(2)).is_meta


def test_the_text_of_a_meta_tensor():
    assert repr(ut.zeros(2, 3, device="meta")) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(ut.zeros(2, dtype=ut.int64, device="meta")).startswith("tensor(..., device='meta', size=(2,), dtype=")


def test_copies_and_pickles_stay_on_meta():
    x = ut.empty_strided((2, 3), (1, 2), device="meta", requires_grad=True)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.is_meta and y.stride() == (1, 2) and y.requires_grad
    file = io.BytesIO()
    ut.save({"x": x}, file)
    file.seek(0)
    y = ut.load(file)["x"]
    assert y.is_meta and y.shape == (2, 3) and y.stride() == (1, 2)


def test_storages_count_bytes_without_memory():
    storage = ut.zeros(10, device="meta").untyped_storage()
    assert storage.nbytes() == 40 and storage.data_ptr() == 0 and storage.device == ut.device("meta")
    grown = ut.empty(0, device="meta").resize_(3, 4)
    assert grown.untyped_storage().nbytes() == 48


# ---- modules ----


class Net(nn.Module):
    def __init__(self, device=None):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16, device=device), nn.ReLU(), nn.LayerNorm(16, device=device))
        self.head = nn.Linear(16, 4, bias=False, device=device)
        self.register_buffer("steps", ut.zeros((), dtype=ut.int64, device=device))

    def forward(self, x):
        return self.head(self.body(x))


def test_a_module_is_built_run_and_differentiated_without_memory():
    net = Net("meta")
    out = net(ut.empty(5, 8, device="meta"))
    assert out.shape == (5, 4) and out.is_meta
    out.sum().backward()
    assert all(p.grad.shape == p.shape and p.grad.is_meta for p in net.parameters())
    assert sum(p.numel() for p in net.parameters()) == 8 * 16 + 16 + 2 * 16 + 16 * 4


def test_the_bytes_a_graph_would_save_are_known_without_running_it():
    here, there = Net(), Net("meta")
    saved = [ut.autograd.saved_tensors_report(net(ut.ones(5, 8, device=next(net.parameters()).device))).total_bytes for net in (here, there)]
    assert saved[0] == saved[1] > 0


def test_to_empty_allocates_memory_and_to_raises():
    net = Net("meta")
    with pytest.raises(NotImplementedError, match="to_empty"):
        net.to("cpu")
    net.to_empty(device="cpu")
    assert all(p.is_cpu and p.requires_grad for p in net.parameters()) and net.steps.is_cpu


def test_load_state_dict_assigns_or_warns_on_meta():
    state = Net().state_dict()
    net = Net("meta")
    with pytest.warns(UserWarning, match="which is a no-op"):
        net.load_state_dict(state)
    assert all(p.is_meta for p in net.parameters())
    net.load_state_dict(state, assign=True)
    assert all(p.is_cpu and isinstance(p, nn.Parameter) and p.requires_grad for p in net.parameters())
    x = ut.ones(1, 8)
    expected = Net()
    expected.load_state_dict(state)
    assert ut.equal(net(x), expected(x))


def test_skip_init_draws_no_random_numbers():
    state = ut.get_rng_state()
    layer = nn.utils.skip_init(nn.Linear, 3, 2)
    assert layer.weight.is_cpu and ut.equal(ut.get_rng_state(), state)
    assert nn.utils.skip_init(nn.Linear, 3, 2, device="meta").weight.is_meta


def test_empty_weights_by_replacing_register_parameter():
    """The way accelerate's init_empty_weights works: each parameter moves to meta as it is registered."""
    register = nn.Module.register_parameter

    def register_empty(module, name, param):
        register(module, name, param)
        if param is not None:
            module._parameters[name] = type(param)(module._parameters[name].to("meta"), requires_grad=param.requires_grad)

    nn.Module.register_parameter = register_empty
    try:
        net = Net()
    finally:
        nn.Module.register_parameter = register
    assert all(p.is_meta for p in net.parameters()) and net.steps.is_cpu


def test_an_optimizer_step_on_meta_changes_nothing_and_raises_nothing():
    net = Net("meta")
    for optimizer in (ut.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), ut.optim.AdamW(net.parameters())):
        net(ut.empty(2, 8, device="meta")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert all(p.is_meta for p in net.parameters())


def test_a_file_is_loaded_to_meta_without_its_bytes():
    file = io.BytesIO()
    ut.save({"x": ut.arange(6.0).view(2, 3).t(), "mask": ut.tensor([True])}, file)
    file.seek(0)
    loaded = ut.load(file, map_location="meta")
    assert loaded["x"].is_meta and loaded["x"].shape == (3, 2) and loaded["x"].stride() == (1, 3) and loaded["mask"].is_meta


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_a_fused_optimizer_needs_memory(name):
    layer = ut.nn.Linear(2, 1, device="meta")
    optimizer = getattr(ut.optim, name)(layer.parameters(), lr=0.1, fused=True)
    layer(ut.ones(1, 2, device="meta")).sum().backward()
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point Tensors of supported devices"):
        optimizer.step()


def test_a_module_that_only_changes_its_dtype_stays_on_its_device():
    layer = ut.nn.Linear(2, 3, device="meta")
    for moved in (layer.to(ut.bfloat16), layer.to(dtype=ut.float64), layer.to(memory_format=ut.channels_last)):
        assert {p.device.type for p in moved.parameters()} == {"meta"}
    assert layer.weight.dtype == ut.float64
