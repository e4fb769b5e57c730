"""Programs for test_dispatch_names.py: ordinary operations, modules and optimizers, each with its backward pass.

Each is a function of the library L. It prepares its tensors and returns the function whose operators are noted.
"""

from __future__ import annotations

import importlib

from custom_functions import exp_function


def _randn(L, *shape, requires_grad=True):
    L.manual_seed(0)
    t = L.randn(*shape)
    return t.requires_grad_() if requires_grad else t


def _of(function, *shapes):
    """A program that runs function(L, F, x, ...) and its backward pass."""

    def program(L):
        inputs = [_randn(L, *shape) for shape in shapes]

        def body():
            y = function(L, L.nn.functional, *inputs)
            (y if y.dim() == 0 else y.sum()).backward()

        return body

    return program


def _module(make, *shapes, requires_grad=True):
    def program(L):
        L.manual_seed(0)
        module = make(L.nn)
        inputs = [_randn(L, *shape, requires_grad=requires_grad) for shape in shapes]

        def body():
            y = module(*inputs)
            (y[0] if isinstance(y, tuple) else y).sum().backward()

        return body

    return program


def _written(x, index, value):
    y = x * 1
    y[index] = value
    return y


def _added(x):
    y = x * 1
    y += x
    return y


def _written_view(x):
    y = x * 1
    y.view(16).add_(1)
    return y


def _named(name, *, functional=False):
    return lambda L, F, x: getattr(F if functional else L, name)(x)


def _long(L, *values):
    return L.tensor(list(values))


TWO = {
    "add": lambda L, F, x, y: x + y,
    "sub": lambda L, F, x, y: x - y,
    "mul": lambda L, F, x, y: x * y,
    "div": lambda L, F, x, y: x / y,
    "pow": lambda L, F, x, y: x.abs() ** y,
    "maximum": lambda L, F, x, y: L.maximum(x, y),
    "minimum": lambda L, F, x, y: L.minimum(x, y),
    "atan2": lambda L, F, x, y: L.atan2(x, y),
    "where": lambda L, F, x, y: L.where(x > y, x, y),
    "lerp": lambda L, F, x, y: L.lerp(x, y, 0.3),
    "mm": lambda L, F, x, y: L.mm(x, y),
    "matmul": lambda L, F, x, y: x @ y,
    "cat": lambda L, F, x, y: L.cat([x, y]),
    "stack": lambda L, F, x, y: L.stack([x, y], 1),
    "mse_loss": lambda L, F, x, y: F.mse_loss(x, y),
    "l1_loss": lambda L, F, x, y: F.l1_loss(x, y),
    "smooth_l1_loss": lambda L, F, x, y: F.smooth_l1_loss(x, y),
    "huber_loss": lambda L, F, x, y: F.huber_loss(x, y),
    "bce_with_logits": lambda L, F, x, y: F.binary_cross_entropy_with_logits(x, y.detach().sigmoid()),
    "bce": lambda L, F, x, y: F.binary_cross_entropy(x.sigmoid(), y.detach().sigmoid()),
    "kl_div": lambda L, F, x, y: F.kl_div(x.log_softmax(1), y.detach().softmax(1), reduction="batchmean"),
    "cosine_similarity": lambda L, F, x, y: F.cosine_similarity(x, y),
    "einsum": lambda L, F, x, y: L.einsum("ij,jk->ik", x, y),
    "outer": lambda L, F, x, y: L.outer(x[0], y[0]),
    "addmm": lambda L, F, x, y: L.addmm(x, x, y),
    "addcmul": lambda L, F, x, y: L.addcmul(x, x, y),
    "dot": lambda L, F, x, y: L.dot(x[0], y[1]),
    "mv": lambda L, F, x, y: x @ y[0],
    "cdist": lambda L, F, x, y: L.cdist(x, y),
    "copy_": lambda L, F, x, y: L.zeros(4, 4).copy_(x) * y,
    "kron": lambda L, F, x, y: L.kron(x, y),
    "baddbmm": lambda L, F, x, y: L.baddbmm(x.view(1, 4, 4), x.view(1, 4, 4), y.view(1, 4, 4)),
    "fmod": lambda L, F, x, y: L.fmod(x, y.detach()),
    "hypot": lambda L, F, x, y: L.hypot(x, y),
    "masked_fill": lambda L, F, x, y: x.masked_fill(y > 0, 0.0),
    "scatter_add": lambda L, F, x, y: x.scatter_add(0, L.zeros(4, 4, dtype=L.long), y),
}
POINTWISE = ("neg", "exp", "sin", "cos", "tanh", "sigmoid", "erf", "abs", "sign", "floor", "reciprocal")
ACTIVATIONS = (
    "relu", "gelu", "silu", "mish", "elu", "selu", "leaky_relu", "softplus", "hardtanh", "relu6", "hardswish", "hardsigmoid", "logsigmoid",
    "softsign", "tanhshrink", "glu",
)  # fmt: skip
ONE = {
    **{name: _named(name) for name in POINTWISE},
    **{name: _named(name, functional=True) for name in ACTIVATIONS},
    "gelu tanh": lambda L, F, x: F.gelu(x, approximate="tanh"),
    "1 - x": lambda L, F, x: 1 - x,
    "1 / x": lambda L, F, x: 1 / x,
    "x + 1": lambda L, F, x: x + 1,
    "x * 2": lambda L, F, x: x * 2,
    "x / 2": lambda L, F, x: x / 2,
    "x - 1": lambda L, F, x: x - 1,
    "x ** 3": lambda L, F, x: x**3,
    "square": lambda L, F, x: x.square(),
    "sqrt": lambda L, F, x: x.abs().sqrt(),
    "rsqrt": lambda L, F, x: x.abs().rsqrt(),
    "log": lambda L, F, x: x.abs().log(),
    "log1p": lambda L, F, x: x.abs().log1p(),
    "clamp": lambda L, F, x: x.clamp(-1, 1),
    "clamp min": lambda L, F, x: x.clamp(min=0),
    "sum": lambda L, F, x: x.sum(),
    "sum dim": lambda L, F, x: x.sum(0),
    "sum keepdim": lambda L, F, x: x.sum(1, keepdim=True),
    "mean": lambda L, F, x: x.mean(),
    "mean dim": lambda L, F, x: x.mean(1),
    "prod": lambda L, F, x: x.prod(),
    "var": lambda L, F, x: x.var(),
    "var dim": lambda L, F, x: x.var(1),
    "std": lambda L, F, x: x.std(),
    "norm": lambda L, F, x: x.norm(),
    "norm dim": lambda L, F, x: x.norm(dim=1),
    "vector_norm": lambda L, F, x: L.linalg.vector_norm(x, dim=1),
    "max": lambda L, F, x: x.max(),
    "max dim": lambda L, F, x: x.max(1)[0],
    "amax": lambda L, F, x: x.amax(1),
    "logsumexp": lambda L, F, x: x.logsumexp(1),
    "cumsum": lambda L, F, x: x.cumsum(0),
    "cumprod": lambda L, F, x: x.cumprod(0),
    "sort": lambda L, F, x: x.sort()[0],
    "topk": lambda L, F, x: x.topk(2)[0],
    "softmax": lambda L, F, x: x.softmax(1),
    "log_softmax": lambda L, F, x: x.log_softmax(1),
    "median": lambda L, F, x: x.median(),
    "argmax": lambda L, F, x: x.argmax(1).float() + x.sum(),
    "view": lambda L, F, x: x.view(16),
    "reshape": lambda L, F, x: x.reshape(2, 8),
    "reshape with a copy": lambda L, F, x: x.t().reshape(16),
    "flatten": lambda L, F, x: x.flatten(),
    "t": lambda L, F, x: x.t(),
    "T": lambda L, F, x: x.T,
    "mT": lambda L, F, x: x.mT,
    "transpose": lambda L, F, x: x.transpose(0, 1),
    "permute": lambda L, F, x: x.permute(1, 0),
    "unsqueeze": lambda L, F, x: x.unsqueeze(0),
    "squeeze": lambda L, F, x: x.unsqueeze(0).squeeze(0),
    "squeeze all": lambda L, F, x: x.unsqueeze(0).squeeze(),
    "expand": lambda L, F, x: x.unsqueeze(0).expand(3, 4, 4),
    "repeat": lambda L, F, x: x.repeat(2, 1),
    "x[0]": lambda L, F, x: x[0],
    "x[1:3]": lambda L, F, x: x[1:3],
    "x[:, 1:3]": lambda L, F, x: x[:, 1:3],
    "x[None, ..., 0]": lambda L, F, x: x[None, ..., 0],
    "x[tensor]": lambda L, F, x: x[_long(L, 0, 2)],
    "x[mask]": lambda L, F, x: x[L.tensor([True, False, True, False])],
    "x[tensor, tensor]": lambda L, F, x: x[_long(L, 0, 1), _long(L, 1, 2)],
    "index_select": lambda L, F, x: x.index_select(0, _long(L, 0, 2)),
    "gather": lambda L, F, x: x.gather(1, L.zeros(4, 1, dtype=L.long)),
    "chunk": lambda L, F, x: x.chunk(2)[0],
    "split": lambda L, F, x: x.split(2)[1],
    "split sizes": lambda L, F, x: x.split([1, 3])[1],
    "unbind": lambda L, F, x: x.unbind()[0],
    "narrow": lambda L, F, x: x.narrow(0, 1, 2),
    "diagonal": lambda L, F, x: x.diagonal(),
    "diag": lambda L, F, x: x.diag(),
    "tril": lambda L, F, x: x.tril(),
    "triu": lambda L, F, x: x.triu(),
    "flip": lambda L, F, x: x.flip(0),
    "roll": lambda L, F, x: x.roll(1, 0),
    "unfold": lambda L, F, x: x.unfold(0, 2, 1),
    "movedim": lambda L, F, x: x.movedim(0, 1),
    "contiguous": lambda L, F, x: x.t().contiguous(),
    "clone": lambda L, F, x: x.clone(),
    "double": lambda L, F, x: x.double(),
    "to the same dtype": lambda L, F, x: x.to(L.float32),
    "detach": lambda L, F, x: x.detach() + x,
    "pad": lambda L, F, x: F.pad(x, (1, 1)),
    "pad reflect": lambda L, F, x: F.pad(x.view(1, 4, 4), (1, 1), mode="reflect"),
    "normalize": lambda L, F, x: F.normalize(x),
    "dropout": lambda L, F, x: F.dropout(x, 0.5),
    "dropout eval": lambda L, F, x: F.dropout(x, 0.5, False),
    "zeros_like": lambda L, F, x: L.zeros_like(x) + x,
    "ones_like": lambda L, F, x: L.ones_like(x) + x,
    "new_zeros": lambda L, F, x: x.new_zeros(4, 4) + x,
    "full_like": lambda L, F, x: L.full_like(x, 2.0) + x,
    "randn_like": lambda L, F, x: L.randn_like(x) + x,
    "add_": lambda L, F, x: x.clone().add_(1),
    "mul_": lambda L, F, x: x.clone().mul_(x),
    "relu_": lambda L, F, x: (x * 1).relu_(),
    "y[0] = 0": lambda L, F, x: _written(x, 0, 0),
    "y[1:3] = x[1:3]": lambda L, F, x: _written(L.zeros(4, 4), slice(1, 3), x[1:3]),
    "zero_": lambda L, F, x: (x * 1).zero_() + x,
    "write to a view": lambda L, F, x: _written_view(x),
    "y += x": lambda L, F, x: _added(x),
    "item": lambda L, F, x: x * x.sum().item(),
    "if": lambda L, F, x: x * 2 if x.sum() > 1000 else x * 3,
    "comparison": lambda L, F, x: (x > 0).float().sum() + x.sum(),
    "logical": lambda L, F, x: ((x > 0) & (x < 1)).float().sum() + x.sum(),
    "second derivative": lambda L, F, x: L.autograd.grad((x**3).sum(), x, create_graph=True)[0],
    "used twice": lambda L, F, x: (x + x) * x,
    "interpolate": lambda L, F, x: F.interpolate(x.view(1, 1, 4, 4), scale_factor=2),
    "interpolate bilinear": lambda L, F, x: F.interpolate(x.view(1, 1, 4, 4), scale_factor=2, mode="bilinear"),
    "max_pool2d": lambda L, F, x: F.max_pool2d(x.view(1, 1, 4, 4), 2),
    "avg_pool2d": lambda L, F, x: F.avg_pool2d(x.view(1, 1, 4, 4), 2),
    "adaptive_avg_pool2d to 1": lambda L, F, x: F.adaptive_avg_pool2d(x.view(1, 1, 4, 4), 1),
    "adaptive_avg_pool2d": lambda L, F, x: F.adaptive_avg_pool2d(x.view(1, 1, 4, 4), 2),
    "one_hot": lambda L, F, x: F.one_hot(_long(L, 0, 1, 2, 3), 4) * x,
    "fft": lambda L, F, x: L.fft.fft(x).abs(),
    "isnan": lambda L, F, x: L.isnan(x).any().float() + x.sum(),
    "nan_to_num": lambda L, F, x: L.nan_to_num(x),
    "arange": lambda L, F, x: x * L.arange(4),
    "eye": lambda L, F, x: x * L.eye(4),
    "linspace": lambda L, F, x: x * L.linspace(0, 1, 4),
    "tensor": lambda L, F, x: x * L.tensor(2.0),
    "inv": lambda L, F, x: L.linalg.inv(x),
    "det": lambda L, F, x: L.linalg.det(x),
    "solve": lambda L, F, x: L.linalg.solve(x, x.detach()),
    "cholesky": lambda L, F, x: L.linalg.cholesky(x @ x.T + L.eye(4)),
    "svd": lambda L, F, x: L.linalg.svd(x)[1],
    "eigh": lambda L, F, x: L.linalg.eigh(x + x.T)[0],
    "qr": lambda L, F, x: L.linalg.qr(x)[0],
}
SHAPED = {
    "sdpa": (lambda L, F, q, k, v: F.scaled_dot_product_attention(q, k, v), *[(2, 2, 4, 8)] * 3),
    "sdpa causal": (lambda L, F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *[(2, 2, 4, 8)] * 3),
    "bmm": (lambda L, F, x, y: L.bmm(x, y), (2, 3, 4), (2, 4, 5)),
    "matmul 3d 2d": (lambda L, F, x, y: x @ y, (2, 3, 4), (4, 5)),
    "matmul 4d 4d": (lambda L, F, x, y: x @ y, (2, 2, 3, 4), (2, 2, 4, 5)),
    "matmul 1d 2d": (lambda L, F, x, y: x @ y, (4,), (4, 5)),
    "broadcast add": (lambda L, F, x, y: x + y, (3, 4), (4,)),
    "broadcast mul": (lambda L, F, x, y: x * y, (3, 1), (1, 4)),
}
MODULES = {
    "Linear": _module(lambda nn: nn.Linear(4, 3), (2, 4)),
    "Linear 3d": _module(lambda nn: nn.Linear(4, 3), (2, 5, 4)),
    "Linear without bias": _module(lambda nn: nn.Linear(4, 3, bias=False), (2, 4)),
    "Linear 3d without bias": _module(lambda nn: nn.Linear(4, 3, bias=False), (2, 5, 4)),
    "Linear 1d": _module(lambda nn: nn.Linear(4, 3), (4,)),
    "Linear of data": _module(lambda nn: nn.Linear(4, 3), (2, 4), requires_grad=False),
    "Conv2d": _module(lambda nn: nn.Conv2d(3, 4, 3, padding=1), (2, 3, 8, 8)),
    "Conv2d without bias": _module(lambda nn: nn.Conv2d(3, 4, 3, bias=False), (2, 3, 8, 8)),
    "Conv1d": _module(lambda nn: nn.Conv1d(3, 4, 3), (2, 3, 8)),
    "ConvTranspose2d": _module(lambda nn: nn.ConvTranspose2d(3, 4, 3), (2, 3, 8, 8)),
    "Conv2d of one image": _module(lambda nn: nn.Conv2d(3, 4, 3), (3, 8, 8)),
    "Conv2d same": _module(lambda nn: nn.Conv2d(3, 4, 3, padding="same"), (2, 3, 8, 8)),
    "Conv2d of data": _module(lambda nn: nn.Conv2d(3, 4, 3), (2, 3, 8, 8), requires_grad=False),
    "LayerNorm": _module(lambda nn: nn.LayerNorm(8), (2, 8)),
    "GroupNorm": _module(lambda nn: nn.GroupNorm(2, 4), (2, 4, 3)),
    "BatchNorm2d": _module(lambda nn: nn.BatchNorm2d(3), (2, 3, 4, 4)),
    "BatchNorm2d eval": _module(lambda nn: nn.BatchNorm2d(3).eval(), (2, 3, 4, 4)),
    "InstanceNorm2d": _module(lambda nn: nn.InstanceNorm2d(3), (2, 3, 4, 4)),
    "RMSNorm": _module(lambda nn: nn.RMSNorm(8), (2, 8)),
    "GRU": _module(lambda nn: nn.GRU(3, 4), (2, 1, 3)),
    "LSTM": _module(lambda nn: nn.LSTM(3, 4), (2, 1, 3)),
    "RNN": _module(lambda nn: nn.RNN(3, 4), (2, 1, 3)),
    "LSTMCell": _module(lambda nn: nn.LSTMCell(3, 4), (2, 3)),
    "MultiheadAttention": _module(lambda nn: nn.MultiheadAttention(4, 2, batch_first=True), *[(2, 3, 4)] * 3),
    "TransformerEncoderLayer": _module(lambda nn: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (2, 3, 4)),
    "PReLU": _module(lambda nn: nn.PReLU(), (2, 3)),
    "Bilinear": _module(lambda nn: nn.Bilinear(3, 4, 5), (2, 3), (2, 4)),
    "Sequential": _module(lambda nn: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (3, 4)),
}


def _loss(shape, target, **options):
    def program(L):
        x, t = _randn(L, *shape), target(L)
        return lambda: L.nn.functional.cross_entropy(x, t, **options).backward()

    return program


def _embedding(make):
    def program(L):
        layer, indices = make(L.nn), L.tensor([[1, 2], [3, 4]])
        return lambda: layer(indices).sum().backward()

    return program


def _steps(make):
    def program(L):
        L.manual_seed(0)
        model = L.nn.Linear(3, 2)
        optimizer = make(L.optim, model.parameters())
        x = _randn(L, 4, 3, requires_grad=False)
        model(x).sum().backward()
        optimizer.step()

        def body():
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()

        return body

    return program


def _factories(L):
    def body():
        L.zeros(2), L.ones(2), L.full((2,), 1.0), L.empty(2), L.rand(2), L.randn(2), L.arange(3), L.randint(0, 3, (2,)), L.randperm(3), L.eye(2)
        L.linspace(0, 1, 3), L.tensor([1.0, 2.0]), L.zeros(2, dtype=L.int64), L.empty_strided((2,), (1,)), L.normal(0.0, 1.0, (2,))

    return body


def _with_gradients(act):
    def program(L):
        model = L.nn.Linear(3, 2)
        x = _randn(L, 4, 3, requires_grad=False)
        model(x).sum().backward()
        return lambda: act(L, model, x)

    return program


def _hooks(L):
    x = _randn(L, 3)

    def body():
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        y.sum().backward()

    return body


def _custom_function(L):
    x = _randn(L, 3)
    return lambda: exp_function(L).apply(x).sum().backward()


def _checkpoint(L):
    x = _randn(L, 3)
    checkpoint = importlib.import_module(f"{L.__name__}.utils.checkpoint").checkpoint
    return lambda: checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False).sum().backward()


def _no_grad(L, model, x):
    with L.no_grad():
        model(x).relu().argmax(1)


PROGRAMS = {
    **{name: _of(f, (4, 4), (4, 4)) for name, f in TWO.items()},
    **{name: _of(f, (4, 4)) for name, f in ONE.items()},
    **{name: _of(*parts) for name, parts in SHAPED.items()},
    **MODULES,
    "cross_entropy": _loss((4, 5), lambda L: _long(L, 0, 1, 2, 3)),
    "cross_entropy smoothed": _loss((4, 5), lambda L: _long(L, 0, 1, 2, 3), label_smoothing=0.1),
    "cross_entropy of probabilities": _loss((4, 5), lambda L: _randn(L, 4, 5, requires_grad=False).softmax(1)),
    "cross_entropy of images": _loss((2, 5, 3, 3), lambda L: L.zeros(2, 3, 3, dtype=L.long)),
    "Embedding": _embedding(lambda nn: nn.Embedding(10, 4)),
    "Embedding padding_idx": _embedding(lambda nn: nn.Embedding(10, 4, padding_idx=0)),
    "EmbeddingBag": _embedding(lambda nn: nn.EmbeddingBag(10, 4)),
    "SGD": _steps(lambda optim, p: optim.SGD(p, lr=0.1, foreach=False)),
    "SGD momentum": _steps(lambda optim, p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, foreach=False)),
    "Adam": _steps(lambda optim, p: optim.Adam(p, foreach=False)),
    "AdamW": _steps(lambda optim, p: optim.AdamW(p, foreach=False)),
    "RMSprop": _steps(lambda optim, p: optim.RMSprop(p, foreach=False)),
    "Adagrad": _steps(lambda optim, p: optim.Adagrad(p, foreach=False)),
    "factories": _factories,
    "zero_grad to zeros": _with_gradients(lambda L, model, x: model.zero_grad(set_to_none=False)),
    "clip_grad_norm_": _with_gradients(lambda L, model, x: L.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)),
    "accumulate": _with_gradients(lambda L, model, x: model(x).sum().backward()),
    "no_grad": _with_gradients(_no_grad),
    "Module.to": lambda L: (lambda model: lambda: model.to(L.float64))(L.nn.Linear(3, 2)),
    "state dict": _with_gradients(lambda L, model, x: model.load_state_dict(model.state_dict())),
    "hooks": _hooks,
    "custom Function": _custom_function,
    "checkpoint": _checkpoint,
}


def names(L, program) -> list[str]:
    """The operators that a mode sees while the program runs."""
    seen = []

    class Names(importlib.import_module(f"{L.__name__}.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func.namespace != "profiler":
                seen.append(str(func).removeprefix("aten.").removesuffix(".default"))
            return func(*args, **(kwargs or {}))

    body = program(L)
    with Names():
        body()
    return seen
