"""Forward mode where a tangent could be lost, kept or shared by mistake, compared with torch."""

from __future__ import annotations

import warnings

import pytest

import undertow as ut

OUT = {
    "add": lambda lib, d, b: lib.add(d, b, out=b),
    "add to a dual": lambda lib, d, b: lib.add(b, b, out=d),
    "mul": lambda lib, d, b: lib.mul(d, b, out=b),
    "exp": lambda lib, d, b: lib.exp(d, out=b),
    "sum": lambda lib, d, b: lib.sum(d, 0, keepdim=True, out=b[:1]),
    "cat": lambda lib, d, b: lib.cat([d[:1], b[:1]], out=lib.empty(2)),
    "matmul": lambda lib, d, b: lib.mv(lib.eye(2), d, out=b),
    "max": lambda lib, d, b: lib.max(d, 0, out=(lib.empty(()), lib.empty((), dtype=lib.int64))),
    "sort": lambda lib, d, b: lib.sort(d, out=(lib.empty(2), lib.empty(2, dtype=lib.int64))),
    "plain": lambda lib, d, b: lib.add(b, b, out=b),
    "where": lambda lib, d, b: lib.where(b > 0, d, b, out=b),
    "eq": lambda lib, d, b: lib.eq(d, b, out=lib.empty(2, dtype=lib.bool)),
    "argmax": lambda lib, d, b: lib.argmax(d, out=lib.empty((), dtype=lib.int64)),
    "linspace": lambda lib, d, b: lib.linspace(0, 1, 2, out=d),
    "zeros": lambda lib, d, b: lib.zeros(2, out=d),
    "linalg.inv": lambda lib, d, b: lib.linalg.inv(lib.diag(d), out=lib.empty(2, 2)),
    "special.erf": lambda lib, d, b: lib.special.erf(d, out=b),
    "fft": lambda lib, d, b: lib.fft.fft(d, out=lib.empty(2, dtype=lib.complex64)),
    "index_select": lambda lib, d, b: lib.index_select(d, 0, lib.tensor([0]), out=lib.empty(1)),
    "gather": lambda lib, d, b: lib.gather(d, 0, lib.tensor([0]), out=lib.empty(1)),
    "stack": lambda lib, d, b: lib.stack([d, d], out=lib.empty(2, 2)),
    "clamp": lambda lib, d, b: lib.clamp(d, 0.0, 1.0, out=b),
    "pow": lambda lib, d, b: lib.pow(d, 2, out=b),
    "normal": lambda lib, d, b: lib.normal(d, 1.0, out=b),
}


@pytest.mark.parametrize("op", OUT)
def test_out_with_a_dual_raises(same_as_torch, op):
    def scenario(lib):
        F = lib.autograd.forward_ad
        with F.dual_level():
            d, b = F.make_dual(lib.ones(2), lib.ones(2)), lib.ones(2)
            r = OUT[op](lib, d, b)
            return [t.shape for t in (r if isinstance(r, tuple) else (r,))]

    same_as_torch(scenario, characters=30)  # torch names the operator that writes, which may be another one


def test_detaching_a_dual_in_place_drops_its_tangent(same_as_torch):
    def scenario(lib):
        F = lib.autograd.forward_ad
        with F.dual_level():
            d = F.make_dual(lib.ones(2), lib.ones(2)).clone()
            e = d.detach()
            view = d[:1]
            facts = [F.unpack_dual(e).tangent]
            r = d.detach_()
            return [*facts, r is d, F.unpack_dual(d).tangent, F.unpack_dual(view).tangent, F.unpack_dual(d * 2).tangent]

    same_as_torch(scenario)


@pytest.mark.parametrize("what", ["data", "requires_grad_", "detach", "no_grad", "contiguous", "to", "alias"])
def test_what_keeps_the_tangent(same_as_torch, what):
    def scenario(lib):
        F = lib.autograd.forward_ad
        with F.dual_level():
            d = F.make_dual(lib.ones(2), lib.ones(2))
            if what == "no_grad":
                with lib.no_grad():
                    r = d * 2
            else:
                r = {"data": lambda: d.data, "requires_grad_": lambda: d.clone().detach().requires_grad_(), "detach": d.detach}.get(what, lambda: d.view_as(d))()
            return F.unpack_dual(r).tangent

    same_as_torch(scenario)


@pytest.mark.parametrize("case", ["tangent", "primal", "both"])
def test_a_dual_of_a_dual(same_as_torch, case):
    def scenario(lib):
        F = lib.autograd.forward_ad
        with F.dual_level():
            d = F.make_dual(lib.ones(2), lib.ones(2))
            p, t = (lib.ones(2), d) if case == "tangent" else (d, lib.ones(2)) if case == "primal" else (d, d)
            return F.unpack_dual(F.make_dual(p, t)).tangent

    same_as_torch(scenario)


LAYOUTS = {
    "same": lambda lib: (lib.zeros(4), lib.ones(4)),
    "other storage size": lambda lib: (lib.zeros(5)[:4].detach(), lib.ones(4)),
    "tangent in a larger storage": lambda lib: (lib.zeros(4), lib.ones(5)[:4].detach()),
    "both in larger storages": lambda lib: (lib.zeros(5)[:4].detach(), lib.ones(5)[:4].detach()),
    "strides": lambda lib: (lib.zeros(2, 3).t(), lib.ones(3, 2)),
    "expanded tangent": lambda lib: (lib.zeros(4), lib.ones(1).expand(4)),
    "strided": lambda lib: (lib.zeros(8)[::2], lib.ones(8)[::2]),
    "strides of size one": lambda lib: (lib.zeros(1, 4), lib.ones(4, 1).t()),
    "offset": lambda lib: (lib.zeros(8)[4:], lib.ones(8)[4:]),
    "offset of one": lambda lib: (lib.zeros(8)[4:], lib.ones(8)[:4]),
    "empty": lambda lib: (lib.zeros(0), lib.ones(0)),
    "conj": lambda lib: (lib.zeros(2, dtype=lib.complex64).conj(), lib.ones(2, dtype=lib.complex64)),
    "conj tangent": lambda lib: (lib.zeros(2, dtype=lib.complex64), lib.ones(2, dtype=lib.complex64).conj()),
    "both conj": lambda lib: (lib.zeros(2, dtype=lib.complex64).conj(), lib.ones(2, dtype=lib.complex64).conj()),
    "neg": lambda lib: (lib.zeros(2, dtype=lib.complex64).conj().imag, lib.ones(2)),
    "neg tangent": lambda lib: (lib.zeros(2), lib.ones(2, dtype=lib.complex64).conj().imag),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_make_dual_copies_a_tangent_of_another_layout(same_as_torch, layout):
    def scenario(lib):
        F = lib.autograd.forward_ad
        p, t = LAYOUTS[layout](lib)
        with F.dual_level():
            u = F.unpack_dual(F.make_dual(p, t)).tangent
            facts = [u.stride(), u.is_conj(), u.is_neg(), u.resolve_conj().resolve_neg()]
            if t.numel() and not layout.startswith("expanded"):
                u *= 2
            return [*facts, t.resolve_conj().resolve_neg(), u.resolve_conj().resolve_neg()]

    same_as_torch(scenario)


@pytest.mark.parametrize("case", ["size", "int tangent", "int primal", "requires grad", "not a tensor", "no level"])
def test_make_dual_raises(same_as_torch, case):
    def scenario(lib):
        F = lib.autograd.forward_ad
        p, t = lib.ones(2), lib.ones(2)
        if case == "size":
            t = lib.ones(3)
        elif case == "int tangent":
            t = lib.ones(2, dtype=lib.int64)
        elif case == "int primal":
            p = lib.ones(2, dtype=lib.int64)
        elif case == "not a tensor":
            t = 1.0
        elif case == "requires grad":
            t.requires_grad_()
        if case == "no level":
            return F.make_dual(p, t)
        with F.dual_level():
            return F.unpack_dual(F.make_dual(p, t)).tangent

    same_as_torch(scenario)


UNSAFE = {"unsafe_chunk": lambda x: x.unsafe_chunk(2), "unsafe_split": lambda x: x.unsafe_split(2), "unsafe_split_with_sizes": lambda x: x.unsafe_split_with_sizes([3, 1])}


@pytest.mark.parametrize("written", ["part", "whole"])
@pytest.mark.parametrize("op", UNSAFE)
def test_parts_of_an_unsafe_split_share_the_tangent(same_as_torch, op, written):
    def scenario(lib):
        fw = lib.autograd.forward_ad
        with fw.dual_level():
            whole = fw.make_dual(lib.ones(4), lib.arange(4.0)) * 1
            parts = UNSAFE[op](whole)
            (parts[0] if written == "part" else whole).mul_(2)
            return [fw.unpack_dual(t).tangent.tolist() for t in (*parts, whole)]

    same_as_torch(scenario)


def test_an_empty_tangent_is_used_as_it_is_wherever_it_begins():
    import undertow.autograd.forward_ad as fw

    primal, tangent = ut.ones(1).as_strided((0,), (1,), 1), ut.ones(1).as_strided((0,), (1,), 0)
    with fw.dual_level():
        assert fw.unpack_dual(fw.make_dual(primal, tangent)).tangent is tangent


EXPANDED_WRITES = {
    "zero_": lambda lib, t: t.zero_(),
    "fill_": lambda lib, t: t.fill_(3.0),
    "masked_fill_ of the first row": lambda lib, t: t.masked_fill_(lib.tensor([[True, False], [False, False]]), 5.0),
    "masked_fill_ of the last row": lambda lib, t: t.masked_fill_(lib.tensor([[False, False], [False, True]]), 5.0),
}


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("write", EXPANDED_WRITES)
def test_what_may_write_an_expanded_tensor_writes_its_tangent(same_as_torch, write, recorded):
    def scenario(lib):
        fw = lib.autograd.forward_ad
        with fw.dual_level(), lib.set_grad_enabled(recorded):
            x = lib.tensor([1.0, 2.0], requires_grad=recorded)
            whole = fw.make_dual(x, lib.tensor([3.0, 4.0])) * 1
            part = whole.expand(2, 2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # masked_fill_ of expanded tensors is deprecated
                EXPANDED_WRITES[write](lib, part)
            duals = [fw.unpack_dual(t) for t in (whole, part)]
            return [(d.primal.tolist(), d.tangent.tolist()) for d in duals], part._version

    same_as_torch(scenario)


def test_a_dual_that_no_graph_may_read_is_written_under_no_grad(same_as_torch):
    def scenario(lib):
        fw = lib.autograd.forward_ad
        with fw.dual_level():
            whole = fw.make_dual(lib.ones(2, requires_grad=True), lib.tensor([3.0, 4.0])) * 1
            part = whole.chunk(2)[0]
            whole.mul_(2)
            with lib.no_grad():
                part.mul_(5)
            return fw.unpack_dual(whole).tangent.tolist()

    same_as_torch(scenario)


@pytest.mark.parametrize("change", ["t_", "squeeze_", "unsqueeze_"])
def test_a_view_made_before_a_change_of_shape_in_place_still_shares_the_tangent(change):
    import undertow.autograd.forward_ad as fw

    with fw.dual_level():
        whole = fw.make_dual(ut.ones(2, 2), ut.tensor([[1.0, 2.0], [3.0, 4.0]])) * 1
        view = whole[0]
        whole.unsqueeze_(0) if change == "unsqueeze_" else getattr(whole, change)()
        whole.mul_(2)
        assert fw.unpack_dual(view).tangent.tolist() == [2, 4]
        view.mul_(3)
        assert sorted(fw.unpack_dual(whole).tangent.flatten().tolist()) == [6, 6, 8, 12]


EARLIER_VIEWS = {
    "select": lambda lib, b: b[0],
    "slice": lambda lib, b: b[:, 1:],
    "transpose": lambda lib, b: b.t(),
    "reshape": lambda lib, b: b.view(-1),
    "view of a view": lambda lib, b: b.view(-1)[1:].view(3, 1),
    "expand": lambda lib, b: b.unsqueeze(0).expand(2, 2, 2),
    "unbind": lambda lib, b: b.unbind()[1],
    "diagonal": lambda lib, b: b.diagonal(),
    "detach": lambda lib, b: b.detach(),
    "data": lambda lib, b: b.data,
}


@pytest.mark.parametrize("view", EARLIER_VIEWS)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_view_made_before_its_base_became_a_dual(same_as_torch, view, recorded):
    def scenario(lib):
        F = lib.autograd.forward_ad
        base = lib.zeros(2, 2, requires_grad=recorded) * 1
        with lib.set_grad_enabled(recorded):
            before = EARLIER_VIEWS[view](lib, base)
        with F.dual_level():
            base.add_(F.make_dual(lib.ones(2, 2), lib.arange(4.0).reshape(2, 2)))
            read = F.unpack_dual(before.sin()).tangent
            primal, tangent = F.unpack_dual(before)
            return read, tangent, F.unpack_dual(primal).tangent, F.unpack_dual(primal * 2).tangent

    same_as_torch(scenario)


@pytest.mark.parametrize("view", ["select", "slice", "transpose", "reshape", "view of a view", "diagonal"])
def test_a_write_to_a_view_made_before_its_base_became_a_dual_reaches_the_tangent_of_the_base(same_as_torch, view):
    def scenario(lib):
        F = lib.autograd.forward_ad
        base = lib.zeros(2, 2)
        before = EARLIER_VIEWS[view](lib, base)
        with F.dual_level():
            base.add_(F.make_dual(lib.ones(2, 2), lib.arange(4.0).reshape(2, 2)))
            before.mul_(3)
            return F.unpack_dual(base).tangent, F.unpack_dual(before).tangent

    same_as_torch(scenario)


def test_make_dual_of_a_view_whose_base_became_a_dual_raises(same_as_torch):
    def scenario(lib):
        F = lib.autograd.forward_ad
        base = lib.zeros(2, 2)
        before = base[0]
        with F.dual_level():
            base.add_(F.make_dual(lib.ones(2, 2), lib.ones(2, 2)))
            return F.make_dual(before, lib.ones(2))

    same_as_torch(scenario)


def test_complex_views_made_before_their_base_became_a_dual(same_as_torch):
    def scenario(lib):
        F = lib.autograd.forward_ad
        z = lib.zeros(2, dtype=lib.complex64)
        views = lib.view_as_real(z), z.conj(), z.conj().imag
        with F.dual_level():
            z.add_(F.make_dual(lib.ones(2, dtype=lib.complex64), lib.full((2,), 1 + 2j)))
            return [F.unpack_dual(v * 1).tangent for v in views]

    same_as_torch(scenario)



@pytest.mark.parametrize("dual", [(0,), (1,), (1, 2), (0, 1), (0, 2)], ids=str)
def test_running_statistics_with_tangents_raise(dual, same_as_torch):
    def scenario(lib):
        forward = lib.autograd.forward_ad
        given = [lib.arange(12.0).reshape(2, 2, 3), lib.ones(2), lib.ones(2)]
        with forward.dual_level():
            given = [forward.make_dual(x, lib.ones_like(x)) if i in dual else x for i, x in enumerate(given)]
            try:
                return forward.unpack_dual(lib.nn.functional.batch_norm(*given)).tangent
            except RuntimeError as error:
                return "not differentiable" in str(error)

    same_as_torch(scenario)


WEIGHTED = {
    "binary_cross_entropy": lambda F, x, w: F.binary_cross_entropy(x.sigmoid(), x.sigmoid(), w),
    "binary_cross_entropy_with_logits": lambda F, x, w: F.binary_cross_entropy_with_logits(x, x.sigmoid(), w),
    "nll_loss": lambda F, x, w: F.nll_loss(x, ut.tensor([0, 1]), w[0]),
}


@pytest.mark.parametrize("case", WEIGHTED)
def test_a_tangent_of_a_constant_is_not_read_and_never_lost(case):
    x = ut.ones(2, 3)
    with ut.autograd.forward_ad.dual_level():
        weight, dual = (ut.autograd.forward_ad.make_dual(t, ut.ones(2, 3)) for t in (x, x))
        alone = WEIGHTED[case](ut.nn.functional, x, weight)
        assert ut.autograd.forward_ad.unpack_dual(alone).tangent is None
        with pytest.raises(RuntimeError, match="is not differentiable with respect to argument 'weight'"):
            WEIGHTED[case](ut.nn.functional, dual, weight)


@pytest.mark.parametrize("reshape", [lambda t: t.unsqueeze_(0), lambda t: t.t_(), lambda t: t.squeeze_(), lambda t: t.transpose_(0, 1)])
def test_a_dual_whose_shape_changed_without_grad_mode_can_be_written(reshape):
    F = ut.autograd.forward_ad
    with F.dual_level():
        x = F.make_dual(ut.arange(6.0).reshape(2, 3).requires_grad_(), ut.ones(2, 3))
        y = x.sin()
        with ut.no_grad():
            reshape(y)
        y.mul_(2)
        tangent = F.unpack_dual(y).tangent
        assert tangent.shape == y.shape
        ut.testing.assert_close(tangent, reshape(ut.arange(6.0).reshape(2, 3).cos() * 2))
