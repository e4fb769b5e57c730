"""Queries, settings and errors on a machine without a GPU match those of a CPU-only PyTorch."""

from __future__ import annotations

import contextlib
import warnings

import pytest
from torch_names import torch_names as ut

try:
    import torch
except ImportError:
    torch = None
LIBRARIES = ["undertow", "torch"] if torch else ["undertow"]

ANSWERS = {
    "torch.cuda.is_available()": "False",
    "torch.cuda.device_count()": "0",
    "torch.cuda.is_bf16_supported()": "False",
    "torch.cuda.is_initialized()": "False",
    "torch.cuda.manual_seed(1)": "None",
    "torch.cuda.manual_seed_all(1)": "None",
    "torch.cuda.empty_cache()": "None",
    "torch.cuda.memory_allocated()": "0",
    "torch.cuda.max_memory_allocated()": "0",
    "torch.cuda.get_rng_state_all()": "[]",
    "torch.backends.cudnn.is_available()": "False",
    "torch.backends.cudnn.version()": "None",
    "torch.backends.cudnn.enabled": "True",
    "torch.backends.cudnn.benchmark": "False",
    "torch.backends.cudnn.deterministic": "False",
    "torch.backends.cuda.is_built()": "False",
    "torch.backends.cuda.matmul.allow_tf32": "False",
    "torch.backends.mps.is_available()": "False",
    "torch.backends.mps.is_built()": "False",
    "torch.xpu.is_available()": "False",
    "torch.cpu.is_available()": "True",
    "torch.accelerator.is_available()": "False",
    "torch.accelerator.current_accelerator()": "None",
    "torch.version.cuda": "None",
    "torch.get_default_device()": "device(type='cpu')",
    "torch.device('cuda')": "device(type='cuda')",
    "torch.device('cuda', 1)": "device(type='cuda', index=1)",
    "torch.device('mps')": "device(type='mps')",
    "torch.device('cuda:0') == torch.device('cuda')": "False",
    "torch.device('cuda' if torch.cuda.is_available() else 'cpu')": "device(type='cpu')",
    "torch.are_deterministic_algorithms_enabled()": "False",
    "torch.get_deterministic_debug_mode()": "0",
    "torch.get_float32_matmul_precision()": "'highest'",
    "torch.is_autocast_enabled()": "False",
    "torch.get_autocast_dtype('cpu')": "torch.bfloat16",
    "torch.jit.is_scripting()": "False",
    "torch.compiler.is_compiling()": "False",
    "torch.distributed.is_initialized()": "False",
    "torch.ones(2).is_cuda": "False",
    "torch.ones(2).is_xla": "False",
    "torch.ones(2).dim_order()": "(0,)",
    "torch.ones(2).new([1, 2])": "tensor([1., 2.])",
    "torch.ones(2).to_dense()": "tensor([1., 1.])",
    "torch.ones(2).type('torch.DoubleTensor')": "tensor([1., 1.], dtype=torch.float64)",
    "torch.add(2, torch.ones(2))": "tensor([3., 3.])",
    "torch.sub(2, torch.ones(2), alpha=3)": "tensor([-1., -1.])",
    "torch.mul(2.5, torch.ones(2, dtype=torch.int64))": "tensor([2.5000, 2.5000])",
    "torch.div(1, torch.tensor([3], dtype=torch.bfloat16))": "tensor([0.3340], dtype=torch.bfloat16)",
    "torch.div(1, torch.tensor(4))": "tensor(0.2500)",
    "torch.true_divide(True, torch.tensor([2]))": "tensor([0.5000])",
    "torch.multiply(2, torch.tensor([True]))": "tensor([2])",
    "torch.subtract(1, torch.tensor([3], dtype=torch.uint8))": "tensor([254], dtype=torch.uint8)",
    "torch.add(1j, torch.tensor([3.0]))": "tensor([3.+1.j])",
    "torch.mul(2.0, torch.tensor(3.0, dtype=torch.float64)).dtype": "torch.float64",
    "torch.hann_window(4)": "tensor([0.0000, 0.5000, 1.0000, 0.5000])",
    "torch.vander(torch.tensor([2, 3]))": "tensor([[2, 1],\n        [3, 1]])",
    "torch.zeros(3, 2).fill_diagonal_(1, wrap=True)": "tensor([[1., 0.],\n        [0., 1.],\n        [0., 0.]])",
    "torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()": "(3, 1, 6)",
}
ERROR_CASES = [
    "torch.ones(2, device='cuda')",
    "torch.ones(2).to('cuda')",
    "torch.ones(2).cuda()",
    "torch.tensor([1.0], device='cuda:0')",
    "torch.nn.Linear(2, 2).cuda()",
    "torch.nn.Linear(2, 2).to('cuda')",
    "torch.ones(2).to('mps')",
    "torch.ones(2).xpu()",
    "torch.cuda.current_device()",
    "torch.cuda.get_device_name()",
    "torch.cuda.synchronize()",
    "torch.cuda.Stream()",
    "torch.device('nonsense')",
    "torch.device('')",
    "torch.device('cuda:x')",
    "torch.accelerator.synchronize()",
    "torch.set_num_interop_threads(0)",
    "torch.ones(3).fill_diagonal_(1)",
]


@pytest.mark.parametrize("expression", ANSWERS)
def test_queries_match_torch(expression):
    assert repr(eval(expression, {"torch": ut})).replace("undertow.", "torch.") == ANSWERS[expression]
    if torch:
        assert repr(eval(expression, {"torch": torch})) == ANSWERS[expression]


@pytest.mark.parametrize("expression", ERROR_CASES)
def test_errors_have_torchs_class_and_first_words(expression, same_as_torch):
    def error(library):
        with pytest.raises(Exception) as caught:
            eval(expression, {"torch": library if library is torch else ut})
        return caught.type.__name__, str(caught.value)[:18]

    same_as_torch(error)


@pytest.mark.parametrize("library", LIBRARIES)
def test_switches_keep_their_value_and_flags_restore_it(library):
    torch = ut if library == "undertow" else pytest.importorskip(library)
    if library == "torch" and torch.backends.flags_frozen():
        pytest.skip("PyTorch's test tools, which another test of this process imported, froze its flags")
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic
    cudnn.deterministic = True
    assert cudnn.deterministic is True
    with cudnn.flags(enabled=False, deterministic=False):
        assert (cudnn.enabled, cudnn.deterministic) == (False, False)
    assert (cudnn.enabled, cudnn.deterministic) == (True, True)
    cudnn.deterministic = before
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.get_deterministic_debug_mode() == 1
    torch.set_deterministic_debug_mode("default")
    assert not torch.are_deterministic_algorithms_enabled()
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    torch.set_default_device("cpu")
    with torch.device("cpu"):
        assert torch.ones(1).device.type == "cpu"


AUTOCAST = [
    "linear(x)", "x @ x.T", "x + x", "x.exp()", "linear(x) + x[:, :2]", "torch.nn.functional.cross_entropy(linear(x), torch.zeros(3, dtype=torch.int64))",
    "torch.cat([linear(x), x], 1)", "torch.stack([h[0], x[0]])", "torch.nn.functional.mse_loss(linear(x), x[:, :2])", "torch.bmm(x[None], x.T[None])",
    "torch.einsum('ij,kj->ik', x, x)", "x.double() @ x.double().T", "h.norm()", "torch.prod(h)", "torch.addmm(x[:, :3], x, x.T)", "torch.mv(x, x[0])", "x * h",
    "torch.nn.functional.normalize(h)", "torch.linalg.solve(torch.eye(2, dtype=torch.bfloat16), h[:2])",
]  # fmt: skip


@pytest.mark.parametrize("expression", AUTOCAST)
def test_autocast_on_the_cpu_chooses_torchs_dtypes(expression, same_as_torch):
    def dtype(library):
        x = library.randn(3, 4)
        names = {"torch": library, "x": x, "h": x.to(library.bfloat16), "linear": library.nn.Linear(4, 2)}
        with library.autocast("cpu"):
            inside = eval(expression, names)
            with library.autocast("cpu", enabled=False), contextlib.suppress(RuntimeError):  # mixed dtypes, for some
                off = eval(expression, names).dtype
                assert expression.startswith(("x @", "linear(x)")) is False or off is not library.bfloat16
        return str(inside.dtype).split(".")[1]

    same_as_torch(dtype)


def test_autocast_matches_torch_and_gradients_are_float32(same_as_torch):
    def scenario(library):
        linear, x = library.nn.Linear(4, 2), library.randn(3, 4)
        with library.autocast("cpu", dtype=library.bfloat16):
            loss = library.nn.functional.mse_loss(linear(x), x[:, :2])
        loss.backward()
        assert linear.weight.grad.dtype is library.float32
        return [loss.item(), *linear.weight.grad.flatten().tolist()]

    same_as_torch(scenario, rtol=2e-2, atol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_mixed_precision_for_cuda_is_disabled_with_a_warning(library):
    torch = pytest.importorskip(library)
    x = torch.ones(2, 2)
    with pytest.warns(UserWarning, match="is not available"), torch.autocast("cuda"):
        assert (x @ x).dtype is torch.float32
    with pytest.warns(UserWarning, match="is not available"):
        scaler = torch.amp.GradScaler("cuda")
    assert not scaler.is_enabled()
    assert scaler.scale(x) is x
    assert scaler.state_dict() == {}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_grad_scaler_skips_an_overflow_and_halves_its_scale(library):
    torch = pytest.importorskip(library)
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    seen = []
    for factor in (1.0, float("inf"), 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((w * w).sum() * factor).backward()
        scaler.unscale_(optimizer)
        with pytest.raises(RuntimeError, match="already been called"):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        seen.append((w.tolist(), scaler.get_scale()))
    assert seen == [([0.0, 0.0], 8.0), ([0.0, 0.0], 4.0), ([0.0, 0.0], 4.0), ([0.0, 0.0], 8.0), ([0.0, 0.0], 8.0)]
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 8.0


@pytest.mark.parametrize("library", LIBRARIES)
def test_data_parallel_without_gpus_wraps_the_module(library):
    torch = pytest.importorskip(library)
    inner = torch.nn.Linear(2, 2)
    model = torch.nn.DataParallel(inner)
    x = torch.ones(3, 2)
    assert model(x).tolist() == inner(x).tolist()
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert model.module is inner


def test_compile_returns_the_function():
    assert ut.compile(len) is len
    assert ut.compile(mode="max-autotune")(len) is len
    with pytest.raises(RuntimeError, match="mode or options"):
        ut.compile(len, mode="default", options={})


def test_jit_returns_its_argument_and_warns_once():
    ut.jit._said.clear()
    with pytest.warns(UserWarning, match="eagerly"):
        assert ut.jit.script(len) is len
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ut.jit.script(len) is len
    with pytest.warns(UserWarning, match="eagerly"):
        assert ut.jit.trace(len, ()) is len
    with pytest.raises(NotImplementedError, match="TorchScript"):
        ut.jit.save(None, "x")
