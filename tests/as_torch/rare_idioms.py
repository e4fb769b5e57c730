"""PyTorch names that few programs use; each case prints its results. test_idioms.py runs this program on both libraries and compares the lines."""

import inspect
import io

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_printoptions(precision=7)  # so that rounding only affects digits that are not compared


def case(f):
    """Runs the idiom and prints its results, one per line."""
    torch.manual_seed(0)
    try:
        results = f()
    except Exception as error:  # noqa: BLE001 - what is raised is the result
        results = f"{type(error).__name__}: {str(error).partition('.')[0].partition('(')[0]}"
    for number, result in enumerate(results if isinstance(results, tuple) else (results,)):
        shown = " ".join(str(result.detach() if torch.is_tensor(result) else result).split())
        print(f"{f.__name__}[{number}]:", shown)


def result_or_error(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - what is raised is the result
        return f"{type(error).__name__}: {str(error).partition('.')[0]}"


@case
def foreach():
    a = [torch.ones(2), torch.full((3,), 2.0)]
    torch._foreach_add_(a, 1)
    return (
        a, torch._foreach_mul(a, [2.0, 3.0]), torch._foreach_norm(a), torch._foreach_norm(a, float("inf")), torch._foreach_max(a),
        torch._foreach_add(a, a, alpha=2), torch._foreach_pow(2, a), torch._foreach_lerp(a, [torch.zeros(2), torch.zeros(3)], 0.5),
        torch._foreach_addcmul(a, a, a, 2), torch._foreach_addcdiv(a, a, a, [1, 2]), torch._foreach_addcmul(a, a, a, torch.tensor([1.0, 2.0])),
        torch._foreach_mul(a, torch.tensor(2.0)), torch._foreach_sqrt(a), torch._foreach_maximum(a, 2.5), torch._foreach_clamp_min(a, 2.5),
        torch._foreach_sub_(a, [torch.ones(2), torch.ones(3)]), torch._foreach_copy_(a, [torch.zeros(2), torch.zeros(3)]),
        result_or_error(torch._foreach_add, [], 1), result_or_error(torch._foreach_add, a, [torch.ones(2)]), result_or_error(torch._foreach_add, a, [1]),
    )  # fmt: skip


@case
def checks():
    return (
        result_or_error(torch._check, False), result_or_error(torch._check, False, lambda: "said"), result_or_error(torch._check, True), result_or_error(torch._check, 3),
        result_or_error(torch._check_value, False, lambda: "v"), result_or_error(torch._check_index, False, lambda: "i"), result_or_error(torch._check, False, "text"),
        result_or_error(torch._check_type, False, lambda: "t"), result_or_error(torch._check_with, KeyError, False, lambda: "k"), result_or_error(torch._check_is_size, 2),
        result_or_error(torch._check_tensor_all, torch.tensor([True, False]), lambda: "all"), result_or_error(torch._assert, False, "m"),
        result_or_error(torch._assert_async, torch.tensor(0)), result_or_error(torch._assert_async, torch.tensor(1)),
    )  # fmt: skip


@case
def losses_of_the_package():
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    return (
        torch.kl_div(x, y.softmax(1), 1), torch.kl_div(x, y, 2, log_target=True), torch.cosine_embedding_loss(x, y, torch.ones(3)),
        torch.hinge_embedding_loss(x, y.sign(), 0.5, 1), torch.margin_ranking_loss(x, y, y.sign(), reduction=2),
        torch.poisson_nll_loss(x, y.abs(), True, False, 1e-8, 1), torch.triplet_margin_loss(x, y, x + y, reduction=1),
        torch.bilinear(x, y, torch.randn(2, 4, 4), None),
        torch.ctc_loss(torch.randn(5, 1, 3).log_softmax(2), torch.tensor([[1]]), torch.tensor([5]), torch.tensor([1])),
    )  # fmt: skip


@case
def segments():
    x, out = torch.randn(6, 2, requires_grad=True), []
    for kind in ("sum", "mean", "max", "min", "prod"):
        for start in (None, 0.5):
            y = torch.segment_reduce(x, kind, lengths=torch.tensor([2, 0, 4]), initial=start)
            out += [y, torch.autograd.grad(y[[0, 2]].sum(), x)[0]]
        out.append(torch.segment_reduce(x, kind, offsets=torch.tensor([0, 3, 6])))
    return tuple(out)


@case
def older_names():
    x = torch.randn(3, 3)
    lu, pivots = torch.lu(x)
    return (
        lu, pivots, x.lu()[1], torch.lu(x, get_infos=True)[2], torch.conv_tbc(torch.randn(5, 2, 3), torch.randn(2, 3, 4), torch.randn(4), 1),
        torch.embedding_renorm_(torch.ones(3, 4), torch.tensor([0]), 1.0, 2.0), torch.functional.unravel_index(torch.tensor(3), (2, 2)),
        F.grad.conv1d_weight(torch.ones(1, 1, 3), (1, 1, 2), torch.ones(1, 1, 2)), torch.version.rocm,
    )  # fmt: skip


@case
def histograms():
    x = torch.tensor([1.0, 2.0, 1.0])
    return torch.histogram(x, 4, range=(0.0, 3.0)), torch.histogramdd(x.reshape(3, 1), [2]), torch.return_types.histogram.__name__ != ""


@case
def orders_of_dimensions():
    x = torch.empty((1, 2, 3, 4))
    return (
        torch.empty((2, 3, 5, 7)).dim_order(ambiguity_check=True), result_or_error(x.dim_order, ambiguity_check=True), result_or_error(x.dim_order, ambiguity_check="no"),
        torch.empty((2, 3, 5, 7)).dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]), x.size(dim=1), x.stride(dim=-1),
    )  # fmt: skip


@case
def arrays_keep_their_graph():
    x = torch.ones(2, requires_grad=True)
    y = x + 2
    made = [torch.asarray(y), torch.asarray(y, requires_grad=False), torch.asarray(y, copy=True), torch.asarray(x), torch.asarray([1.0])]
    return tuple((m.requires_grad, m.grad_fn is not None) for m in made)


@case
def lazy_layers():
    shown = tuple(str(list(inspect.signature(cls).parameters)) for cls in (nn.LazyConv2d, nn.LazyConvTranspose1d, nn.LazyInstanceNorm3d))
    layers = (nn.LazyConvTranspose2d(3, 3, 2, 1, 1, 1, False, 1), nn.LazyConv1d(4, 3, bias=False), nn.LazyInstanceNorm2d(bias=False))
    inputs = (torch.randn(1, 2, 4, 4), torch.randn(1, 2, 4), torch.randn(2, 3, 4, 4))
    outputs = tuple(layer(x).shape for layer, x in zip(layers, inputs, strict=True))
    return *shown, *outputs, *(sorted(layer.state_dict()) for layer in layers)


@case
def module_without_its_init():
    class Model(nn.Module):
        def __init__(self):
            self.width = 3

        def forward(self, x):
            return x

    return result_or_error(Model(), torch.ones(1)).partition(" object")[0]


@case
def parameters_are_subclasses():
    x = torch.ones(2)
    torch.testing.assert_close(nn.Parameter(x), x, check_dtype=True)
    return result_or_error(torch.testing.assert_close, nn.Parameter(x), x, allow_subclasses=False).partition(" of type")[0]


@case
def restoring_by_function():
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    return torch.load(file, map_location=lambda s, l: torch.serialization.default_restore_location(s, "cpu"))


@case
def sobol_points():
    from torch.quasirandom import SobolEngine

    out = []
    for dimension in (1, 2, 31, 512):
        engine, scrambled = SobolEngine(dimension), SobolEngine(dimension, scramble=True, seed=7)
        out += [engine.draw(37).sum(0)[-3:], engine.fast_forward(100).draw(2)[-1][-3:], engine.reset().draw_base2(4, dtype=torch.float64)[-1][-3:]]
        out += [scrambled.draw(6)[:, -2:], scrambled, engine.num_generated]
    return *out, SobolEngine(3, True).draw(2), torch.rand(1), result_or_error(engine.draw_base2, 3).partition(" (")[0]


@case
def weak_keys():
    from torch.utils.weak import TensorWeakRef, WeakIdRef, WeakTensorKeyDictionary

    x = torch.ones(2)
    notes = WeakTensorKeyDictionary()
    notes[x] = 3
    kept = (x in notes, torch.ones(2) in notes, notes[x], notes.get(torch.ones(1)), notes.copy() == notes, TensorWeakRef(x)() is x)
    same = WeakIdRef(x) == WeakIdRef(x)
    del x
    return *kept, same, len(notes)


@case
def benchmark_tables():
    import torch.utils.benchmark as benchmark

    rows = [("small", 2e-6, "ours", 1), ("small", 4e-6, "theirs!", 1), ("large one", 93e-6, "ours", 1), ("large one", 93e-6, "ours", 2)]
    measured = [
        benchmark.Measurement(1, [t, t * 1.01, t * 1.02], benchmark.TaskSpec("f(x)", "pass", label="L", sub_label=s, description=d, num_threads=n))
        for s, t, d, n in rows
    ]
    table, trimmed = benchmark.Compare(measured), benchmark.Compare(measured)
    trimmed.trim_significant_figures()
    one = measured[0]
    facts = (one.mean, one.median, one.iqr, one.has_warnings, one.meets_confidence(), one.title, one.as_row_name, one.significant_figures)
    ran = benchmark.Timer("x + y", globals={"x": torch.ones(2), "y": torch.ones(2)}, num_threads=2).blocked_autorange(min_run_time=0.01)
    shown = tuple("/".join(line.rstrip() for line in str(c).splitlines()) for c in (table, trimmed))
    return *shown, *facts, str(one).splitlines()[1:], ran.num_threads, ran.median > 0, result_or_error(benchmark.Timer, 3), result_or_error(benchmark.Compare, [1])


@case
def overrides():
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return f"{func.__name__} of {len(args)}"

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    class Names(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    seen = []
    with Names():
        torch.einsum("i,i", torch.ones(2), torch.ones(2))
    return torch.einsum("i,i", Duck(), torch.ones(2)), type(torch.ones(2).as_subclass(Sub) + 1).__name__, seen


@case
def corners_that_programs_import_from():
    import torch.cuda.nvtx
    from torch.cpu.amp import autocast as cpu_autocast
    from torch.cuda.amp.autocast_mode import autocast
    from torch.cuda.amp.grad_scaler import GradScaler
    from torch.distributions.utils import _standard_normal
    from torch.jit import Final
    from torch.nn.init import _no_grad_trunc_normal_
    from torch.optim.optimizer import ParamsT, _get_value, _use_grad_for_differentiable

    class Block(nn.Module):
        width: Final[int] = 3

    torch._C._jit_set_profiling_executor(False)
    with cpu_autocast(dtype=torch.bfloat16):
        product = (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    found = [x is not None for x in (autocast, GradScaler, ParamsT, _use_grad_for_differentiable, torch.utils)]
    return (
        *found, Block().width, product, _standard_normal((3,), torch.float32, "cpu"), _no_grad_trunc_normal_(torch.empty(3), 0.0, 1.0, -2.0, 2.0),
        _get_value(torch.tensor(2)), F._Reduction.get_enum("sum"), torch._C._nn.gelu(torch.ones(1)), isinstance(torch.ones(1), torch._C.TensorBase),
        result_or_error(torch.cuda.nvtx.range_push, "a"),
    )  # fmt: skip
