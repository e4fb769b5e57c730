"""Which writes count, and which tensors count them together: version counters compared with torch."""

from __future__ import annotations

import pytest

UNSAFE = {
    "unsafe_chunk": lambda x: x.unsafe_chunk(3),
    "unsafe_split": lambda x: x.unsafe_split(2),
    "unsafe_split_with_sizes": lambda x: x.unsafe_split_with_sizes([1, 2, 3]),
}


@pytest.mark.parametrize("op", UNSAFE)
def test_each_part_of_an_unsafe_split_counts_alone(same_as_torch, op):
    def scenario(lib):
        a = lib.arange(6.0, requires_grad=True)
        whole = a + a
        parts = UNSAFE[op](whole)
        before = [p._version for p in parts]
        parts[0].mul_(2)
        return [before, [p._version for p in parts], whole._version, [p._is_view() for p in parts], [p._base is None for p in parts]]

    same_as_torch(scenario)


@pytest.mark.parametrize("op", UNSAFE)
def test_a_part_of_an_unsafe_split_may_be_written(same_as_torch, op):
    def scenario(lib):
        a = lib.arange(6.0, requires_grad=True)
        parts = UNSAFE[op](a + a)
        parts[0].mul_(parts[1][:1].detach() + parts[0].detach())
        parts[1].exp_()
        (parts[0].sum() + (parts[1] * parts[2][:1]).sum()).backward()
        return a.grad

    same_as_torch(scenario)


@pytest.mark.parametrize("op", UNSAFE)
def test_a_product_of_parts_written_into_one_of_them(same_as_torch, op):
    def scenario(lib):
        a = lib.arange(6.0, requires_grad=True)
        parts = UNSAFE[op](a + a)
        parts[-1].mul_(parts[-2][:1])
        parts[-1].sum().backward()
        return a.grad

    same_as_torch(scenario)


@pytest.mark.parametrize("dim", [0, 1])
def test_a_view_of_a_part_may_be_written(same_as_torch, dim):
    def scenario(lib):
        x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        part = x.unsafe_chunk(2, dim)[1]
        part.view(-1)[1:].mul_(0.5) if dim == 0 else part[1:].mul_(0.5)
        (g,) = lib.autograd.grad((part * part * 3).sum(), x, create_graph=True)
        return [g, lib.autograd.grad((g * g).sum(), x)[0]]

    same_as_torch(scenario)


@pytest.mark.parametrize("op", UNSAFE)
def test_parts_of_a_tensor_without_gradient(same_as_torch, op):
    def scenario(lib):
        whole = lib.arange(6.0)
        parts = UNSAFE[op](whole)
        parts[0].fill_(7)
        w = lib.ones(1, requires_grad=True)
        parts[1].mul_(w)
        parts[1].sum().backward()
        return [whole._version, [p._version for p in parts], w.grad, parts[0].requires_grad, parts[1].requires_grad, whole.requires_grad]

    same_as_torch(scenario)


@pytest.mark.parametrize("op", ["resize_", "resize_as_", "other size", "same size of a view"])
def test_resizing_counts_only_if_the_shape_changes(same_as_torch, op):
    def scenario(lib):
        x = lib.arange(6.0).reshape(2, 3)
        before = x._version
        if op == "resize_":
            x.resize_(x.shape)
        elif op == "resize_as_":
            x.resize_as_(lib.zeros(2, 3))
        elif op == "other size":
            x.resize_(3, 2)
        else:
            x.t().resize_(3, 2)
        return x._version - before

    same_as_torch(scenario)


@pytest.mark.parametrize("op", ["t_", "squeeze_", "unsqueeze_", "transpose_", "swapaxes_", "as_strided_", "zero_", "fill_", "copy_", "set_", "requires_grad_", "detach_"])
def test_what_counts_as_a_write(same_as_torch, op):
    def scenario(lib):
        x = lib.zeros(2, 2)
        before = x._version
        args = {
            "unsqueeze_": (0,),
            "transpose_": (0, 1),
            "swapaxes_": (0, 1),
            "as_strided_": ((2,), (1,)),
            "fill_": (1.0,),
            "copy_": (lib.ones(2, 2),),
            "set_": (lib.ones(2, 2),),
        }.get(op, ())
        getattr(x, op)(*args)
        return x._version - before

    same_as_torch(scenario)


def test_data_leaves_a_tensor_on_the_counter_of_its_views(same_as_torch):
    def scenario(lib):
        x = lib.ones(3)
        z = x[:]
        x.data = lib.zeros(3)
        facts = [x._version == z._version]
        x.add_(1)
        facts += [x._version, z._version]
        z.add_(1)
        facts += [x._version, z._version, x, z]
        new = lib.ones(3)
        x.data = new
        new.add_(1)
        return [*facts, x._version, new._version, x]

    same_as_torch(scenario)


def test_the_counter_of_data_is_its_own(same_as_torch):
    def scenario(lib):
        x = lib.ones(3)
        x.add_(1)
        d, e = x.data, x.detach()
        x.add_(1)
        d.add_(1)
        e.add_(1)
        return [x._version, d._version, e._version]

    same_as_torch(scenario)


def test_a_saved_tensor_whose_data_is_replaced(same_as_torch):
    def scenario(lib):
        x = lib.ones(3, requires_grad=True)
        z = lib.ones(3)
        y = x * z
        z.data = lib.zeros(3)
        y.sum().backward()
        return x.grad

    same_as_torch(scenario)


@pytest.mark.parametrize("leaf", [True, False])
def test_a_saved_input_that_is_detached_in_place(same_as_torch, leaf):
    def scenario(lib):
        a = lib.ones(2, requires_grad=True)
        if not leaf:
            a = a * 1
        b = a.sin()
        a.detach_()
        b.sum().backward()
        return a.grad

    same_as_torch(scenario)


def test_a_saved_input_that_is_detached_in_place_and_then_written(same_as_torch):
    def scenario(lib):
        x = lib.ones(3, requires_grad=True)
        y = x.exp()
        z = y * x
        y.detach_()
        y.mul_(2)
        try:
            z.sum().backward()
        except RuntimeError as e:
            return "detached in-place" in str(e)
        return None

    same_as_torch(scenario)


@pytest.mark.parametrize("op", ["exp", "mul by a detached", "square of an unsaved"])
def test_a_tensor_detached_in_place_that_the_graph_does_not_read(same_as_torch, op):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        a = x * 1
        if op == "exp":
            b = a.exp()
        elif op == "mul by a detached":
            b = x * a.detach_()
        else:
            b = a + a
        a.detach_()
        b.sum().backward()
        return [x.grad, a.requires_grad, a.is_leaf]

    same_as_torch(scenario)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_saved_input_detached_in_place_may_be_asked_for(same_as_torch, recorded):
    def scenario(lib):
        a = lib.ones(2, requires_grad=True) * 1
        b = a.sin()
        node = b.grad_fn
        a.detach_()
        return node._saved_self

    same_as_torch(scenario)


def set_under_no_grad(lib):
    """A leaf that set_ gave other memory, an output computed before, and what can be said about the leaf."""
    x = lib.ones(2, requires_grad=True)
    out = (x * 2).sum()
    edge = lib.autograd.graph.get_gradient_edge(x)
    with lib.no_grad():
        x.set_(lib.zeros(2))
    facts = [x.is_leaf, x.requires_grad, x.grad_fn is None]
    facts.append(list(lib.autograd.grad(out, edge, retain_graph=True)))
    facts.append(list(lib.autograd.grad(out, x, retain_graph=True, allow_unused=True)))
    facts.append(list(lib.autograd.grad((x * 3).sum(), x)))
    facts.append(lib.autograd.graph.get_gradient_edge(x).node is edge.node)
    return x, out, facts


def test_a_leaf_set_under_no_grad(same_as_torch):
    def scenario(lib):
        x, out, _ = set_under_no_grad(lib)
        lib.autograd.grad(out, x)

    same_as_torch(scenario)


def test_what_a_leaf_set_under_no_grad_reports(same_as_torch):
    def scenario(lib):
        x, out, facts = set_under_no_grad(lib)
        out.backward()
        return [*facts, x.grad]

    same_as_torch(scenario)


@pytest.mark.parametrize("shape", [(2,), (3,)])
def test_a_leaf_set_to_another_storage_under_no_grad(same_as_torch, shape):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        out = (x * 2).sum()
        with lib.no_grad():
            x.set_(lib.zeros(shape).untyped_storage(), 0, shape, (1,))
        y = (x * x).sum()
        y.backward()
        return [x.grad, list(lib.autograd.grad(out, x, allow_unused=True))]

    same_as_torch(scenario)


def test_setting_with_grad_mode(same_as_torch):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        x.set_(lib.zeros(2))

    same_as_torch(scenario)


def test_setting_a_result(same_as_torch):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        y = x * 2
        with lib.no_grad():
            y.set_(lib.zeros(3))
        return [y.requires_grad, y.is_leaf, y.shape]

    same_as_torch(scenario)


MADE_IN_STEPS = {
    "quantile": lambda lib, x: lib.quantile(x, 0.3),
    "nanquantile": lambda lib, x: lib.nanquantile(x, 0.3),
    "quantile of a dimension": lambda lib, x: lib.quantile(x, lib.tensor([0.1, 0.6]), dim=1),
    "median": lambda lib, x: x.median(),
    "logsumexp": lambda lib, x: x.logsumexp(0),
    "var": lambda lib, x: x.var(),
    "std": lambda lib, x: x.std(0),
    "norm": lambda lib, x: x.norm(),
    "vector_norm": lambda lib, x: lib.linalg.vector_norm(x, 3),
    "matrix_norm": lambda lib, x: lib.linalg.matrix_norm(x),
    "cdist": lambda lib, x: lib.cdist(x, x),
    "pdist": lambda lib, x: lib.nn.functional.pdist(x),
    "cov": lambda lib, x: lib.cov(x),
    "corrcoef": lambda lib, x: lib.corrcoef(x),
    "renorm": lambda lib, x: x.renorm(2, 0, 1.0),
    "trapezoid": lambda lib, x: lib.trapezoid(x),
    "cumulative_trapezoid": lambda lib, x: lib.cumulative_trapezoid(x),
    "diff": lambda lib, x: x.diff(),
    "diff of order 0": lambda lib, x: x.diff(n=0),
    "stft": lambda lib, x: lib.stft(x.reshape(-1), 4, window=lib.ones(4), return_complex=True),
    "stft of a batch": lambda lib, x: lib.stft(x.repeat(1, 2), 4, window=lib.ones(4), return_complex=True),
    "gradient": lambda lib, x: lib.gradient(x, dim=0)[0],
    "kron": lambda lib, x: lib.kron(x, x),
    "tensordot": lambda lib, x: lib.tensordot(x, x, 2),
    "einsum": lambda lib, x: lib.einsum("ij,kj->ik", x, x),
    "bilinear": lambda lib, x: lib.nn.functional.bilinear(x, x, lib.ones(2, 3, 3)),
    "linear": lambda lib, x: lib.nn.functional.linear(x, lib.ones(2, 3), lib.ones(2)),
    "mse_loss": lambda lib, x: lib.nn.functional.mse_loss(x, x + 1),
    "huber_loss": lambda lib, x: lib.nn.functional.huber_loss(x, x + 1),
    "cross_entropy": lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([0, 1])),
    "kl_div": lambda lib, x: lib.nn.functional.kl_div(x, x.softmax(0), reduction="sum"),
    "binary_cross_entropy": lambda lib, x: lib.nn.functional.binary_cross_entropy(x.sigmoid(), x.sigmoid()),
    "cosine_similarity": lambda lib, x: lib.nn.functional.cosine_similarity(x, x + 1),
    "normalize": lambda lib, x: lib.nn.functional.normalize(x),
    "pad": lambda lib, x: lib.nn.functional.pad(x, (1, 1)),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (3,)),
    "batch_norm": lambda lib, x: lib.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda lib, x: lib.nn.functional.group_norm(x, 1),
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.0),
    "alpha_dropout": lambda lib, x: lib.nn.functional.alpha_dropout(x, 0.5, training=True),
    "softmin": lambda lib, x: lib.nn.functional.softmin(x, 0),
    "gumbel": lambda lib, x: lib.nn.functional.gumbel_softmax(x, hard=True),
    "one_hot": lambda lib, x: lib.nn.functional.one_hot(lib.tensor([0, 2])),
    "index_add": lambda lib, x: x.index_add(0, lib.tensor([0]), x[:1]),
    "index_copy": lambda lib, x: x.index_copy(0, lib.tensor([0]), x[:1]),
    "index_fill": lambda lib, x: x.index_fill(0, lib.tensor([0]), 1.0),
    "index_put": lambda lib, x: x.index_put((lib.tensor([0]),), x[:1]),
    "scatter": lambda lib, x: x.scatter(0, lib.tensor([[0, 1, 0]]), x),
    "scatter_add": lambda lib, x: x.scatter_add(0, lib.tensor([[0, 1, 0]]), x),
    "masked_fill": lambda lib, x: x.masked_fill(x > 0, 1.0),
    "masked_scatter": lambda lib, x: x.masked_scatter(x > 0, x),
    "diagonal_scatter": lambda lib, x: x.diagonal_scatter(lib.ones(2)),
    "select_scatter": lambda lib, x: x.select_scatter(lib.ones(3), 0, 0),
    "slice_scatter": lambda lib, x: x.slice_scatter(lib.ones(1, 3), 0, 0, 1),
    "tril": lambda lib, x: x.tril(),
    "triu": lambda lib, x: x.triu(),
    "roll": lambda lib, x: x.roll(1),
    "flip": lambda lib, x: x.flip(0),
    "rot90": lambda lib, x: x.rot90(),
    "repeat": lambda lib, x: x.repeat(2, 1),
    "cat": lambda lib, x: lib.cat([x, x]),
    "stack": lambda lib, x: lib.stack([x, x]),
    "block_diag": lambda lib, x: lib.block_diag(x, x),
    "cartesian_prod": lambda lib, x: lib.cartesian_prod(x[0], x[1]),
    "combinations": lambda lib, x: lib.combinations(x[0]),
    "vander": lambda lib, x: lib.vander(x[0]),
    "outer": lambda lib, x: lib.outer(x[0], x[1]),
    "cross": lambda lib, x: lib.linalg.cross(x, x + 1),
    "addmm": lambda lib, x: lib.addmm(lib.ones(2, 2), x, x.t()),
    "baddbmm": lambda lib, x: lib.baddbmm(lib.ones(1, 2, 2), x[None], x.t()[None]),
    "chain_matmul": lambda lib, x: lib.linalg.multi_dot([x, x.t(), x]),
    "matrix_exp": lambda lib, x: lib.matrix_exp(x[:, :2]),
    "matrix_power": lambda lib, x: lib.linalg.matrix_power(x[:, :2], 3),
    "inv": lambda lib, x: lib.linalg.inv(x[:, :2]),
    "pinv": lambda lib, x: lib.linalg.pinv(x),
    "det": lambda lib, x: lib.linalg.det(x[:, :2]),
    "svdvals": lambda lib, x: lib.linalg.svdvals(x),
    "lerp": lambda lib, x: x.lerp(x + 1, 0.5),
    "addcmul": lambda lib, x: x.addcmul(x, x),
    "clamp": lambda lib, x: x.clamp(0, 1),
    "nan_to_num": lambda lib, x: x.nan_to_num(),
    "logit": lambda lib, x: x.sigmoid().logit(),
    "xlogy": lambda lib, x: lib.xlogy(x, x + 2),
    "polygamma": lambda lib, x: lib.polygamma(1, x + 2),
    "multigammaln": lambda lib, x: lib.special.multigammaln(x + 3, 2),
    "float_power": lambda lib, x: x.float_power(2),
    "histc": lambda lib, x: x.histc(4),
    "bincount": lambda lib, x: lib.tensor([0, 1, 1]).bincount(),
    "searchsorted": lambda lib, x: lib.searchsorted(x.sort()[0], x),
    "bucketize": lambda lib, x: lib.bucketize(x, x[0].sort()[0]),
    "unique": lambda lib, x: lib.unique(x),
    "interpolate": lambda lib, x: lib.nn.functional.interpolate(x[None], scale_factor=2),
    "grid_sample": lambda lib, x: lib.nn.functional.grid_sample(x[None, None], lib.zeros(1, 1, 1, 2), align_corners=False),
    "unfold": lambda lib, x: lib.nn.functional.unfold(x[None, None], (1, 2)),
    "conv1d": lambda lib, x: lib.nn.functional.conv1d(x[None], lib.ones(1, 2, 2), lib.ones(1)),
    "max_pool1d": lambda lib, x: lib.nn.functional.max_pool1d(x[None], 2),
    "embedding": lambda lib, x: lib.nn.functional.embedding(lib.tensor([0, 1]), x),
    "embedding_bag": lambda lib, x: lib.nn.functional.embedding_bag(lib.tensor([[0, 1]]), x),
    "fft": lambda lib, x: lib.fft.fft(x),
    "irfft": lambda lib, x: lib.fft.irfft(x),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "full": lambda lib, x: lib.full((2,), 1.0),
    "ones": lambda lib, x: lib.ones(2),
    "eye": lambda lib, x: lib.eye(2),
    "arange": lambda lib, x: lib.arange(3),
    "linspace": lambda lib, x: lib.linspace(0, 1, 3),
    "logspace": lambda lib, x: lib.logspace(0, 1, 3),
    "randn": lambda lib, x: lib.randn(3),
    "randperm": lambda lib, x: lib.randperm(3),
    "normal": lambda lib, x: lib.normal(x, 1.0),
    "tril_indices": lambda lib, x: lib.tril_indices(3, 3),
    "hann_window": lambda lib, x: lib.hann_window(4),
    "tensor": lambda lib, x: lib.tensor([1.0]),
    "new_full": lambda lib, x: x.new_full((2,), 1.0),
    "bernoulli": lambda lib, x: x.sigmoid().bernoulli(),
    "rand": lambda lib, x: lib.rand(2),
    "randint": lambda lib, x: lib.randint(3, (2,)),
    "multinomial": lambda lib, x: x.exp().multinomial(2),
    "isin": lambda lib, x: lib.isin(x, x),
    "isclose": lambda lib, x: lib.isclose(x, x),
    "where": lambda lib, x: lib.where(x > 0, x, 1.0),
    "argwhere": lambda lib, x: lib.argwhere(x > 0),
    "take_along_dim": lambda lib, x: lib.take_along_dim(x, lib.tensor([[0]]), 1),
    "count_nonzero": lambda lib, x: x.count_nonzero(),
    "nanmean": lambda lib, x: x.nanmean(),
    "nansum": lambda lib, x: x.nansum(),
    "prod": lambda lib, x: x.prod(),
    "cumprod": lambda lib, x: x.cumprod(0),
    "logcumsumexp": lambda lib, x: x.logcumsumexp(0),
    "poisson": lambda lib, x: lib.poisson(x.exp()),
    "rrelu": lambda lib, x: lib.nn.functional.rrelu(x, training=True),
    "triplet": lambda lib, x: lib.nn.functional.triplet_margin_loss(x, x + 1, x - 1),
    "gaussian_nll": lambda lib, x: lib.nn.functional.gaussian_nll_loss(x, x, x.exp()),
    "scaled_dot_product_attention": lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("what", MADE_IN_STEPS)
def test_the_version_of_a_result_made_in_steps(same_as_torch, what, requires_grad):
    def scenario(lib):
        x = lib.tensor([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], requires_grad=requires_grad)
        return MADE_IN_STEPS[what](lib, x)._version

    same_as_torch(scenario)


def test_a_version_cannot_be_set_below_zero():
    import undertow as ut

    x = ut.ones(2)
    with pytest.raises(RuntimeError, match="Cannot set a version_counter to a value below 0"):
        ut._C._unsafe_set_version_counter((x,), (-1,))
    assert x._version == 0
