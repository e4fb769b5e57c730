"""Scenarios of views and in-place writes, each a function of the library; test_views.py runs them on both."""

from __future__ import annotations

from typing import Any

SCENARIOS: dict[str, Any] = {}


def scenario(f: Any) -> Any:
    SCENARIOS[f.__name__] = f
    return f


def name_of(t: Any) -> str | None:
    return None if t.grad_fn is None else t.grad_fn.name().split("::")[-1]


def vector(lib: Any, n: int = 6) -> Any:
    return lib.tensor([0.5 + 0.75 * i for i in range(n)], dtype=lib.float64)


def weight(lib: Any) -> Any:
    return lib.tensor(2.0, dtype=lib.float64, requires_grad=True)


def grad(lib: Any, y: Any, *xs: Any) -> list:
    return list(lib.autograd.grad((y * y).sum(), xs, allow_unused=True))


@scenario
def view_of_view(lib):
    w = weight(lib)
    b = vector(lib) * w
    v = b.view(2, 3)
    u = v.select(0, 1)
    u.mul_(w)
    return [u._base is b, name_of(b), name_of(v), name_of(u), v._version, grad(lib, b, w), grad(lib, v, w), grad(lib, u, w)]


@scenario
def overlapping_views(lib):
    w = weight(lib)
    b = vector(lib) * w
    u, v = b.narrow(0, 0, 4), b.narrow(0, 2, 4)
    u.mul_(w)
    v.mul_(u.sum())
    return [b, u, v, grad(lib, b, w), grad(lib, u, w), grad(lib, v, w)]


@scenario
def overlapping_views_twice_differentiated(lib):
    w = weight(lib)
    b = vector(lib) * w
    u, v = b.narrow(0, 0, 4), b.narrow(0, 2, 4)
    u.mul_(w)
    v.mul_(w)
    u.mul_(v.sum())
    (g,) = lib.autograd.grad((b * b * b).sum(), w, create_graph=True)
    return [b, g, lib.autograd.grad(g, w)]


@scenario
def saved_view_then_written(lib):
    w = weight(lib)
    b = vector(lib) * w
    v = b.narrow(0, 0, 2)
    y = v * v
    b.mul_(2)
    return grad(lib, y, w)


@scenario
def saved_base_then_view_written(lib):
    w = weight(lib)
    b = vector(lib) * w
    y = b * b
    b.narrow(0, 0, 2).mul_(2)
    return grad(lib, y, w)


@scenario
def written_before_saved(lib):
    w = weight(lib)
    b = vector(lib) * w
    b.narrow(0, 0, 2).mul_(w)
    y = b * b
    return grad(lib, y, w)


@scenario
def plain_base_written_by_view(lib):
    w = weight(lib)
    b = vector(lib)
    v = b.narrow(0, 1, 2)
    v.mul_(w)
    return [b.requires_grad, b.is_leaf, name_of(b), name_of(v), grad(lib, b, w)]


@scenario
def copy_into_a_view(lib):
    w = weight(lib)
    b = vector(lib)
    b.view(2, 3).select(1, 1).copy_(w * 3)
    return [b, name_of(b), grad(lib, b, w)]


@scenario
def copy_broadcasts_and_converts(lib):
    w = weight(lib)
    b = lib.zeros(2, 3)
    b.copy_(lib.ones(3, dtype=lib.float64) * w)
    return [b, str(b.dtype).split(".")[-1], name_of(b), grad(lib, b, w)]


for _n, _write in {
    "fill": lambda t, w: t.fill_(1.5),
    "fill_tensor": lambda t, w: t.fill_(w.detach()),
    "fill_weight": lambda t, w: t.fill_(w),
    "zero": lambda t, w: t.zero_(),
    "copy": lambda t, w: t.copy_(w),
    "neg": lambda t, w: t.neg_(),
    "exp": lambda t, w: t.exp_(),
    "mul_itself": lambda t, w: t.mul_(t),
    "tril": lambda t, w: t.view(2, 3).tril_(),
    "detached_add": lambda t, w: t.detach().add_(1),
    "data_add": lambda t, w: t.data.add_(1),
    "transpose": lambda t, w: t.view(2, 3).transpose_(0, 1),
    "unsqueeze": lambda t, w: t.unsqueeze_(0),
    "squeeze": lambda t, w: t.unsqueeze_(0).squeeze_(),
    "squeeze_dim": lambda t, w: t.unsqueeze_(0).squeeze_(0),
    "squeeze_dims": lambda t, w: t.unsqueeze_(0).squeeze_((0, 1)),
    "t": lambda t, w: t.t_(),
    "swapaxes": lambda t, w: t.unsqueeze_(1).swapaxes_(0, 1),
    "as_strided": lambda t, w: t.as_strided_((2, 2), (1, 2)),
    "resize": lambda t, w: t.resize_(3),
    "detach": lambda t, w: t.detach_(),
    "set": lambda t, w: t.set_(t.detach().clone()),
}.items():

    def _on(kind: str, write: Any = _write) -> Any:
        def tell(lib: Any) -> list:
            w = weight(lib)
            leaf = vector(lib).requires_grad_(kind == "leaf")
            b = vector(lib) * w if kind in ("history", "view") else leaf
            t = b.view(6) if kind == "view" else b
            r = write(t, w)
            out = [list(t.shape), list(r.shape), t._version, b._version, r is t, name_of(t), name_of(b), t._is_view(), t, b]
            return out + [grad(lib, t, w) if t.requires_grad else None, grad(lib, b, w) if b.requires_grad else None]

        return tell

    for _kind in ("plain", "leaf", "history", "view"):
        SCENARIOS[f"{_n}_in_place_on_{_kind}"] = _on(_kind)


for _n, _many in {
    "unbind": lambda b: b.unbind(0),
    "split": lambda b: b.split(2),
    "split_with_sizes": lambda b: b.split([2, 4]),
    "chunk": lambda b: b.chunk(2),
    "tensor_split": lambda b: b.tensor_split(2),
}.items():

    def _multi(how: str, many: Any = _many) -> Any:
        def tell(lib: Any) -> Any:
            w = weight(lib)
            b = vector(lib) if "plain" in how else vector(lib) * w
            v = many(b)[1]
            if "view_of" in how:
                v = v.view(-1)
            if how.endswith("no_grad"):
                with lib.no_grad():
                    v.mul_(2)
            elif how.endswith("base"):
                b.mul_(w)
            else:
                v.mul_(w)
            return [name_of(v), name_of(b), v, b]

        return tell

    for _how in ("write", "base", "write_no_grad", "plain_write", "plain_base", "view_of_write", "view_of_base"):
        SCENARIOS[f"{_n}_{_how}"] = _multi(_how)


def _made_in(mode: str, of: str, then: str) -> Any:
    def tell(lib: Any) -> Any:
        w = weight(lib)
        b = {"plain": vector(lib), "leaf": vector(lib).requires_grad_(), "history": vector(lib) * w}[of]
        with getattr(lib, mode)():
            v = b.view(2, 3)
            inside = [v.requires_grad, v._is_view(), v.is_inference(), v._base is b]
        if then == "write":
            v.mul_(w)
        elif then == "write_constant":
            v.mul_(2)
        elif then == "base":
            b.mul_(w)
        elif then == "view":
            u = v.view(6)
            inside += [u._is_view(), u.requires_grad, name_of(u)]
            u.mul_(w)
        return [*inside, v.requires_grad, name_of(v), b._version]

    return tell


for _mode in ("no_grad", "inference_mode"):
    for _of in ("plain", "leaf", "history"):
        for _then in ("nothing", "write", "write_constant", "base", "view"):
            SCENARIOS[f"view_made_in_{_mode}_of_{_of}_then_{_then}"] = _made_in(_mode, _of, _then)


@scenario
def inference_tensors(lib):
    with lib.inference_mode():
        i = lib.ones(3)
        v = i.view(3)
        inside = [v.is_inference(), v._is_view(), i.requires_grad]
        i.add_(1)
    u = i.view(3)
    return [*inside, u.is_inference(), u._is_view(), (i * 2).is_inference(), i.clone().is_inference(), i, v]


@scenario
def inference_tensor_written_outside(lib):
    with lib.inference_mode():
        i = lib.ones(3)
    i.add_(1)


@scenario
def inference_tensor_saved(lib):
    with lib.inference_mode():
        i = lib.ones(3, dtype=lib.float64)
    return i * weight(lib)


@scenario
def retain_grad_follows_a_write_through_a_view(lib):
    w = weight(lib)
    b = vector(lib) * w
    b.retain_grad()
    v = b.narrow(0, 0, 3)
    v.retain_grad()
    v.mul_(w)
    (b * b).sum().backward()
    return [b.grad, v.grad, w.grad]


@scenario
def hooks_stay_with_the_value_they_were_put_on(lib):
    w = weight(lib)
    b = vector(lib) * w
    seen = []
    b.register_hook(lambda g: seen.append(("before", g.tolist())))
    b.narrow(0, 0, 3).mul_(w)
    b.register_hook(lambda g: seen.append(("after", g.tolist())))
    (b * b).sum().backward()
    return [seen, w.grad]


@scenario
def a_hook_on_a_view_before_a_write(lib):
    w = weight(lib)
    b = vector(lib) * w
    v = b.narrow(0, 0, 3)
    seen = []
    v.register_hook(lambda g: seen.append(g.tolist()))
    b.mul_(w)
    (v * v).sum().backward()
    return [seen, w.grad]


@scenario
def conj_view_written(lib):
    w = weight(lib)
    z = lib.tensor([1 + 2j, 3 - 1j], dtype=lib.complex128) * w
    c = z.conj()
    c.mul_(1j * w)
    return [z, c, name_of(z), name_of(c), lib.autograd.grad((z * z.conj() * z).sum().imag, w)]


@scenario
def real_and_imag_assigned(lib):
    w = weight(lib)
    z = lib.tensor([1 + 2j, 3 - 1j], dtype=lib.complex128) * w
    z.real = w * 3
    z.imag.mul_(w)
    z.conj().imag.add_(w)
    return [z, name_of(z), lib.autograd.grad((z * z * z.conj()).sum().real, w)]


@scenario
def view_as_real_written_then_viewed(lib):
    w = weight(lib)
    z = lib.tensor([1 + 2j, 3 - 1j], dtype=lib.complex128)
    r = lib.view_as_real(z)
    i = z.imag
    r.select(0, 1).mul_(w)
    return [z, name_of(z), name_of(r), name_of(i), i, lib.autograd.grad((i * i).sum(), w)]


@scenario
def expanded_written(lib):
    return lib.ones(1).expand(3).add_(1)


@scenario
def expanded_copied_into(lib):
    return lib.ones(1).expand(3).copy_(lib.ones(3))


@scenario
def expanded_filled(lib):
    return [lib.ones(1).expand(3).fill_(2.0), lib.ones(1).expand(3).zero_()]


@scenario
def written_while_read(lib):
    b = vector(lib)
    return b.narrow(0, 1, 5).add_(b.narrow(0, 0, 5))


@scenario
def copied_while_read(lib):
    b = vector(lib)
    return b.narrow(0, 1, 5).copy_(b.narrow(0, 0, 5))


@scenario
def out_while_read(lib):
    b = vector(lib)
    return lib.mul(b.narrow(0, 0, 5), 2, out=b.narrow(0, 1, 5))


@scenario
def transposed_added_in_place(lib):
    b = vector(lib, 9).view(3, 3)
    return b.add_(b.t())


@scenario
def the_same_memory_twice(lib):
    b = vector(lib)
    return [b.add_(b), b.mul_(b.view(6)), b.view(2, 3).mul_(b.view(2, 3))]


@scenario
def interleaved_memory(lib):
    b = vector(lib)
    return b.as_strided((3,), (2,)).add_(b.as_strided((3,), (2,), 1))


@scenario
def out_on_a_view(lib):
    b = vector(lib)
    v = b.narrow(0, 0, 3)
    lib.mul(vector(lib, 3), 2, out=v)
    return [b, b._version, v._version]


@scenario
def out_that_requires_grad(lib):
    return lib.mul(vector(lib), 2, out=vector(lib).requires_grad_())


@scenario
def out_in_no_grad(lib):
    leaf = vector(lib).requires_grad_()
    with lib.no_grad():
        lib.mul(vector(lib), 2, out=leaf)
    return [leaf, leaf._version, leaf.requires_grad, leaf.is_leaf]


@scenario
def result_dtypes_that_do_not_fit(lib):
    return lib.ones(2, dtype=lib.int64).add_(1.5)


@scenario
def shapes_that_do_not_fit(lib):
    return lib.ones(2).add_(lib.ones(3, 2))


@scenario
def copies_that_do_not_fit(lib):
    return lib.ones(2).copy_(lib.ones(3))


@scenario
def copies_of_more_dimensions(lib):
    return lib.ones(2).copy_(lib.ones(3, 2))


@scenario
def data_replaced(lib):
    a = lib.ones(2).add_(1)
    b = a.view(2)
    a.data = lib.zeros(5)
    return [a, a._version, b, b._version]


@scenario
def data_replaced_by_integers(lib):
    a = lib.ones(2, requires_grad=True)
    a.data = lib.zeros(5, dtype=lib.int64)


@scenario
def versions(lib):
    a = lib.ones(4)
    v, d, n = a.view(2, 2), a.detach(), a.data
    a.add_(1)
    v.add_(1)
    d.add_(1)
    n.add_(1)
    return [a._version, v._version, d._version, n._version, a.data._version, n.view(4)._version, n.detach()._version, a]


@scenario
def second_backward_through_a_write(lib):
    w = weight(lib)
    b = vector(lib) * 2
    b.narrow(0, 0, 3).add_(w)
    s = b.sum()
    s.backward()
    s.backward()


@scenario
def leaf_written_in_no_grad(lib):
    leaf = vector(lib).requires_grad_()
    with lib.no_grad():
        leaf.add_(1)
        leaf.view(2, 3).mul_(2)
    return [leaf, leaf._version, leaf.is_leaf, leaf.requires_grad]


@scenario
def a_view_of_a_leaf_is_a_leaf_only_in_no_grad(lib):
    leaf = vector(lib).requires_grad_()
    v = leaf.view(2, 3)
    return [v.is_leaf, v.requires_grad, grad(lib, v, leaf)]


@scenario
def requires_grad_on_a_view_of_plain(lib):
    b = vector(lib)
    v = b.view(2, 3)
    v.requires_grad_()
    return [b.requires_grad, v.requires_grad, v.is_leaf, v._is_view(), grad(lib, v, v)]


@scenario
def requires_grad_on_a_base_with_views(lib):
    b = vector(lib)
    v = b.view(2, 3)
    b.requires_grad_()
    return [v.requires_grad, v.is_leaf, name_of(v)]


@scenario
def fill_values(lib):
    out: list = []
    for dtype, value in [("uint8", -1), ("int32", 2.7), ("bool", 3), ("complex64", 1j), ("float16", float("inf"))]:
        out.append(lib.zeros(2, dtype=getattr(lib, dtype)).fill_(value))
    return out


for _dtype, _value in [("uint8", 300), ("float32", 1j), ("float32", 1e40), ("int8", 128), ("float16", 1e6)]:
    SCENARIOS[f"fill_{_dtype}_with_{_value}"] = lambda lib, d=_dtype, v=_value: lib.zeros(2, dtype=getattr(lib, d)).fill_(v)


@scenario
def fill_with_a_vector(lib):
    return lib.ones(3).fill_(lib.ones(2))


@scenario
def memory_formats(lib):
    x = lib.zeros(2, 3, 4, 5)
    y = x.to(memory_format=lib.channels_last)
    out = [list(y.stride()), list(y.clone().stride()), list(y.contiguous().stride()), list(lib.cat([y, y]).stride())]
    out += [list(y.float().stride()), list(y.double().stride()), y.is_contiguous(memory_format=lib.channels_last)]
    return [*out, list(x.contiguous(memory_format=lib.channels_last).stride()), list((y + x).stride())]


@scenario
def cat_promotes(lib):
    return str(lib.cat([lib.ones(2, dtype=lib.int32), lib.ones(2, dtype=lib.float16)]).dtype).split(".")[-1]
