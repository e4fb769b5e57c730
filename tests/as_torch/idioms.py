"""Common PyTorch idioms, each of which prints its results. test_idioms.py runs this program on both libraries and compares the lines."""

import copy
import io
import math
import os
import pickle
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.autograd import Function, Variable
from torch.nn.parameter import Parameter
from torch.utils.data import DataLoader, TensorDataset, random_split


def case(f):
    """Runs the idiom and prints its results, one per line."""
    results = f()
    for number, result in enumerate(results if isinstance(results, tuple) else (results,)):
        print(f"{f.__name__}[{number}]:", result)


@case
def linear_regression():
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 200)
    y = torch.sin(x)
    p = torch.tensor([1, 2, 3])
    xx = x.unsqueeze(-1).pow(p)
    model = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0, 1))
    loss_fn = nn.MSELoss(reduction="sum")
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for _ in range(50):
        loss = loss_fn(model(xx), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return round(loss.item(), 3)


@case
def descent_by_hand():
    torch.manual_seed(1)
    w = torch.randn(4, 3, requires_grad=True)
    b = Variable(torch.zeros(3), requires_grad=True)
    x = torch.randn(8, 4)
    for _ in range(3):
        l = ((x @ w + b) ** 2).mean()
        l.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
            w.grad.zero_()
            b.grad = None
    return f"{l:.6f} {w.data.sum():.5f}"


@case
def data_loading():
    g = torch.Generator().manual_seed(3)
    ds = TensorDataset(torch.arange(10.0), torch.arange(10))
    a, b = random_split(ds, [7, 3], generator=g)
    dl = DataLoader(a, batch_size=3, shuffle=True, generator=g, drop_last=False)
    return [(x.tolist(), y.tolist()) for x, y in dl], len(dl), len(b)


@case
def saving_and_loading():
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    o = optim.Adam(m.parameters())
    m(torch.ones(1, 2)).sum().backward()
    o.step()
    with tempfile.TemporaryDirectory() as d:
        p = os.path.join(d, "c.pt")
        torch.save({"model": m.state_dict(), "opt": o.state_dict(), "epoch": 3}, p)
        c = torch.load(p, weights_only=True, map_location="cpu")
    m2 = copy.deepcopy(m)
    r = m2.load_state_dict(c["model"])
    o.load_state_dict(c["opt"])
    buf = io.BytesIO()
    torch.save(torch.arange(3), buf)
    buf.seek(0)
    return r, c["epoch"], torch.load(buf), pickle.loads(pickle.dumps(m))(torch.ones(1, 2)).shape


@case
def indexing():
    x = torch.arange(12).reshape(3, 4).float()
    x[0, 1:3] = 9
    x[x > 10] = -1
    i = torch.tensor([[0, 1], [2, 3], [1, 1]])
    return (
        x.gather(1, i).tolist(),
        torch.zeros(3, 5).scatter_(1, i, 1.0).sum().item(),
        x.topk(2, dim=1).values.tolist(),
        torch.nonzero(x > 5).shape,
        x.masked_fill(x < 0, 0).sum(),
        torch.where(x > 3, x, torch.zeros_like(x)).sum().item(),
        torch.unique(torch.tensor([1, 1, 3])),
        torch.bincount(torch.tensor([0, 1, 1])),
        x.argmax(1),
        x.max(0),
    )


@case
def custom_function():
    class MyReLU(Function):
        @staticmethod
        def forward(ctx, i):
            ctx.save_for_backward(i)
            return i.clamp(min=0)

        @staticmethod
        def backward(ctx, g):
            (i,) = ctx.saved_tensors
            gi = g.clone()
            gi[i < 0] = 0
            return gi

    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    MyReLU.apply(x).sum().backward()
    return x.grad


@case
def numpy_exchange():
    a = np.ones((2, 3), dtype=np.float32)
    t = torch.from_numpy(a)
    a[0, 0] = 5
    return t, t.numpy().dtype, torch.tensor(a), torch.as_tensor([1, 2]), np.asarray(t).sum(), torch.Tensor(a), float(t.sum()), int(t[0, 0])


@case
def function_transforms():
    from torch.func import grad, vmap

    f = lambda w, x: (w * x).sum() ** 2
    return vmap(grad(f), (None, 0))(torch.ones(2), torch.arange(6.0).reshape(3, 2))


@case
def printing():
    return (
        repr(torch.zeros(2, 2)),
        str(torch.tensor(3.5)),
        f"{torch.tensor(2.5):.2f}",
        torch.float16,
        torch.Size([1]),
        torch.device("cpu"),
        torch.tensor([1], dtype=torch.int8),
        torch.ones(1, requires_grad=True) * 2,
    )


@case
def tensor_methods():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    return (
        x.size(),
        x.view(-1, 2).shape,
        x.permute(1, 0).contiguous().shape,
        x.t().is_contiguous(),
        torch.cat([x, x], dim=0).shape,
        [t.shape for t in x.chunk(2, 1)],
        x.unsqueeze(0).squeeze().shape,
        x.expand(2, 3, 4).shape,
        x.repeat(2, 1).shape,
        x.std(unbiased=False).item(),
        x.norm(p=2, dim=1).shape,
        x.cumsum(0).shape,
        torch.einsum("ij,kj->ik", x, x).shape,
        torch.tril(torch.ones(3, 3)).sum(),
        x.clamp_(0, 1).min(),
        x.type(torch.LongTensor).dtype,
        x.long().dtype,
        x.to(torch.float64).dtype,
        x.new_zeros(2).shape,
        torch.randperm(5, generator=torch.Generator().manual_seed(1)),
        F.one_hot(torch.tensor([1, 2]), 4),
        torch.linspace(0, 1, 3),
        torch.logsumexp(x, 1).shape,
        torch.full((2,), 7),
        torch.eye(2),
        torch.allclose(x, x),
        torch.equal(x, x),
        torch.isnan(x).any(),
    )


@case
def modules():
    class Net(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(3, 3)
            s.register_buffer("b", torch.ones(3))
            s.w = Parameter(torch.zeros(3))
            s.ls = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
            s.d = nn.ModuleDict({"a": nn.ReLU()})
            s.pl = nn.ParameterList([Parameter(torch.ones(1))])

        def forward(s, x: Tensor) -> Tensor:
            for l in s.ls:
                x = s.d["a"](l(x))
            return s.l(x) + s.b + s.w

    torch.manual_seed(0)
    n = Net()
    n.apply(lambda m: nn.init.xavier_uniform_(m.weight) if isinstance(m, nn.Linear) else None)
    hs = []
    h = n.l.register_forward_hook(lambda m, i, o: hs.append(o.shape))
    y = n(torch.ones(2, 3))
    h.remove()
    y.sum().backward()
    tot = nn.utils.clip_grad_norm_(n.parameters(), 1.0)
    return (
        [k for k, _ in n.named_parameters()],
        sum(p.numel() for p in n.parameters() if p.requires_grad),
        n.training,
        n.eval().training,
        round(tot.item(), 5),
        hs,
        next(n.parameters()).device,
        str(n)[:40],
        list(n.state_dict())[:3],
    )


@case
def schedules():
    p = [Parameter(torch.ones(1))]
    o = optim.SGD(p, lr=1.0, momentum=0.9, weight_decay=1e-4, nesterov=True)
    s = optim.lr_scheduler.OneCycleLR(o, max_lr=1.0, total_steps=10)
    l = []
    for _ in range(5):
        o.step()
        s.step()
        l.append(round(s.get_last_lr()[0], 5))
    s2 = optim.lr_scheduler.ReduceLROnPlateau(o, "min", patience=0)
    s2.step(1.0)
    s2.step(2.0)
    return l, round(o.param_groups[0]["lr"], 6)


@case
def hooks_and_grads():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    y.sum().backward()
    return (
        x.grad,
        y.grad,
        y.grad_fn.name(),
        y.is_leaf,
        x._version,
        torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].grad_fn is not None,
    )


@case
def random_numbers():
    torch.manual_seed(42)
    a = torch.rand(3)
    s = torch.get_rng_state()
    b = torch.randn(2)
    torch.set_rng_state(s)
    return (
        a,
        torch.equal(b, torch.randn(2)),
        torch.randint(0, 10, (4,)),
        torch.bernoulli(torch.full((4,), 0.5)),
        torch.normal(0.0, 1.0, (2,)),
        torch.multinomial(torch.tensor([0.1, 0.9]), 3, replacement=True),
        torch.initial_seed(),
    )


@case
def complex_numbers():
    z = torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    return z, z.abs(), torch.view_as_real(z), z.conj().imag, torch.fft.fft(torch.ones(4)).real


@case
def attention():
    torch.manual_seed(0)
    q = torch.randn(1, 2, 3, 4)
    m = torch.triu(torch.ones(3, 3), 1).bool()
    s = (q @ q.transpose(-2, -1) / 2).masked_fill(m, float("-inf"))
    return F.softmax(s, dim=-1).sum(), nn.MultiheadAttention(4, 2)(q[0, :, :], q[0], q[0])[0].shape, nn.LayerNorm(4)(q).shape


@case
def checkpointing():
    from torch.utils.checkpoint import checkpoint

    l = nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    checkpoint(l, x, use_reentrant=False).sum().backward()
    return x.grad is not None


@case
def mixed_precision():
    sc = torch.amp.GradScaler("cpu", enabled=False)
    l = nn.Linear(2, 2)
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        y = l(torch.ones(1, 2))
    return y.dtype, sc.scale(y) is y


@case
def errors():
    out = []
    for e in [
        "torch.ones(2)@torch.ones(3)",
        "nn.Linear(2,2)(torch.ones(1,3))",
        "torch.ones(2).backward()",
        "torch.cat([torch.ones(2),torch.ones(2,2)])",
        "torch.ones(2).view(3)",
        "F.cross_entropy(torch.ones(2,3),torch.tensor([0,5]))",
        "torch.zeros(2)[5]",
        "torch.tensor([1.,2.]).item()",
        "bool(torch.ones(2))",
    ]:
        try:
            eval(e)
            out.append("no error")
        except Exception as x:
            out.append(type(x).__name__ + ": " + str(x)[:30])
    return out
