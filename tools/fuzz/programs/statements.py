"""The statements that random programs consist of, as templates.

A template assigns to `{new}` or writes to `{w}`. Placeholders are filled by `generate.py`:

- `{a}`: any real variable, or `{w}`: one that is not a leaf, or `{z}`: a complex variable; the same one everywhere in the statement
- `{s}`: a variable with the same shape; `{b}`: a variable that broadcasts with it, or a number; `{m}`: a mask with its shape
- `{d}`, `{e}`: its dimensions; `{i}`: an index along `{d}`; `{lo}`, `{hi}`: bounds of a slice along `{d}`
- `{shape}`: a shape with as many elements; `{perm}`: a permutation of the dimensions; `{index}`: an index expression
- `{c}`: a number
"""

from __future__ import annotations

POINTWISE = [
    "{a}.sin()", "{a}.cos()", "{a}.tanh()", "{a}.exp()", "{a}.expm1()", "{a}.sigmoid()", "{a}.neg()", "{a}.abs()", "{a}.relu()", "{a}.square()",
    "{a}.erf()", "{a}.erfc()", "{a}.atan()", "{a}.asinh()", "{a}.sinh()", "{a}.exp2()", "{a}.abs().sqrt()", "{a}.abs().add(0.5).log()",
    "{a}.abs().log1p()", "{a}.abs().add(0.5).rsqrt()", "{a}.abs().add(0.5).reciprocal()", "{a}.clamp(-0.7, 0.8)", "{a}.clamp(min={c})",
    "{a}.pow(2)", "{a}.pow(3)", "{a}.abs().add(0.1).pow({c})", "{a}.sign()", "{a}.floor()", "{a}.frac()", "{a}.sinc()", "{a}.logit(0.2)",
    "{a}.nan_to_num()", "{a}.clone()", "{a}.contiguous()", "{a}.erfinv()", "{a}.lgamma()", "F.softplus({a})", "F.elu({a})", "F.gelu({a})",
    "F.silu({a})", "F.leaky_relu({a})", "F.hardtanh({a})", "F.logsigmoid({a})", "F.mish({a})", "F.hardswish({a})", "F.celu({a})", "F.selu({a})",
    "F.softsign({a})", "F.tanhshrink({a})", "F.softshrink({a})", "F.threshold({a}, 0.1, 0.2)",
    "{a}.tan()", "{a}.cosh()", "{a}.clamp(-0.9, 0.9).acos()", "{a}.mul(0.3).asin()", "{a}.mul(0.3).atanh()", "{a}.abs().add(1.1).acosh()",
    "{a}.abs().add(0.5).log2()", "{a}.abs().add(0.5).log10()", "{a}.trunc()", "{a}.round()", "{a}.ceil()", "{a}.positive()", "{a}.digamma()",
    "lib.special.i0({a})", "lib.special.i1e({a})", "lib.special.erfcx({a})", "lib.special.log_ndtr({a})", "lib.special.ndtri({a}.sigmoid())",
    "lib.special.entr({a}.abs())", "lib.polygamma(1, {a}.abs() + 0.5)", "lib.mvlgamma({a}.abs() + 3, 2)", "F.relu6({a})", "F.hardsigmoid({a})",
    "F.rrelu({a})", "F.hardshrink({a}, 0.3)", "F.softplus({a}, 2, 1)", "F.dropout({a}, 0.5, False)",
    "F.prelu({a}, lib.full((1,), 0.2, dtype=lib.float64))", "F.gelu({a}, approximate='tanh')", "lib.pow(1.5, {a})",
]  # fmt: skip
BINARY = [
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{c} - {a}", "{a} * {a}", "lib.maximum({a}, {s})", "lib.minimum({a}, {s})",
    "lib.atan2({a}, {s})", "lib.where({m}, {a}, {s})", "lib.where({m}, {a}, {c})", "lib.lerp({a}, {s}, {c})", "lib.hypot({a}, {s})",
    "lib.addcmul({a}, {s}, {s}, value={c})", "lib.addcdiv({a}, {s}, {s}.abs() + 1)", "{a}.add({s}, alpha={c})", "{a}.masked_fill({m}, {c})",
    "lib.fmod({a}, 0.7)", "lib.remainder({a}, 0.7)", "lib.copysign({a}, {s})", "lib.logaddexp({a}, {s})", "lib.float_power({a}, 2)",
    "lib.dist({a}, {s})", "lib.cat([{a}, {s}], {d})", "lib.stack([{a}, {s}], {d})", "lib.hstack([{a}, {s}])",
    "lib.cdist({a}.reshape(-1, 1), {s}.reshape(-1, 1))",
    "lib.xlogy({a}, {s}.abs() + 0.1)", "lib.special.xlog1py({a}, {s}.abs())", "lib.fmax({a}, {s})", "lib.fmin({a}, {s})",
    "lib.logaddexp2({a}, {s})", "{a}.clamp({s}, {s} + 1)", "{a}.clamp(max={s})", "lib.pow({a}.abs() + 0.1, {s})", "{a} // {c}",
    "lib.div({a}, {s}, rounding_mode='floor')", "lib.lerp({a}, {s}, {s})", "lib.addcmul({a}, {s}, {b})", "lib.rsub({a}, {s}, alpha={c})",
    "lib.dstack([{a}, {s}])", "lib.column_stack([{a}, {s}])", "lib.block_diag({a}.reshape(1, -1), {s}.reshape(-1, 1))",
    "lib.combinations({a}.reshape(-1)[:3])", "lib.meshgrid({a}.reshape(-1)[:2], {s}.reshape(-1)[:2], indexing='ij')[0]",
    "lib.broadcast_tensors({a}, {s})[0]", "lib.where({m}, {a}, lib.tensor(0.5, dtype=lib.float64))", "{a}.sub({s}.unsqueeze(0), alpha=2)",
    "{a}.ldexp(lib.tensor(2))",
]  # fmt: skip
REDUCTIONS = [
    "{a}.sum()", "{a}.sum({d})", "{a}.sum({d}, keepdim=True)", "{a}.mean()", "{a}.mean({d})", "{a}.prod()", "{a}.prod({d})", "{a}.var()",
    "{a}.std({d}, unbiased=False)", "{a}.norm()", "{a}.norm(dim={d})", "{a}.norm(p=1)", "{a}.amax({d})", "{a}.amin()", "{a}.max()",
    "{a}.max({d}).values", "{a}.min({d})[0]", "{a}.median()", "{a}.median({d}).values", "{a}.logsumexp({d})", "{a}.softmax({d})",
    "{a}.log_softmax({d})", "{a}.cumsum({d})", "{a}.cumprod({d})", "{a}.cummax({d})[0]", "{a}.logcumsumexp({d})", "{a}.sort({d})[0]",
    "{a}.sort({d}, descending=True).values", "{a}.topk(1, {d})[0]", "{a}.kthvalue(1, {d})[0]", "{a}.quantile(0.3)", "{a}.nanmean()",
    "{a}.diff(dim={d})", "{a}.aminmax(dim={d}).max", "lib.trapezoid({a}, dim={d})", "F.normalize({a}, dim={d})", "lib.linalg.vector_norm({a}, 3)",
    "{a}.renorm(2, {d}, 0.6)", "lib.var_mean({a}, {d})[0]",
    "lib.std_mean({a}, {d})[0]", "{a}.mode({d})[0]", "{a}.nansum({d})", "{a}.nanmedian()", "{a}.nanquantile(0.4, {d})", "{a}.cummin({d})[0]",
    "{a}.norm(p=float('inf'))", "{a}.norm(p=0.5, dim={d})", "{a}.norm(p=3, dim={d}, keepdim=True)",
    "lib.linalg.vector_norm({a}, float('inf'), dim={d})", "lib.linalg.matrix_norm({a})", "lib.linalg.matrix_norm({a}, 'nuc')",
    "lib.linalg.matrix_norm({a}, 1)", "{a}.amin({d}, keepdim=True)", "{a}.sum((0, -1))", "{a}.logsumexp((0,))",
    "lib.cumulative_trapezoid({a}, dim={d})", "lib.cov({a}.reshape(2, -1))", "{a}.topk(1, {d}, largest=False)[0]", "{a}.msort()",
    "{a}.quantile(lib.tensor([0.2, 0.9], dtype=lib.float64), {d})", "F.normalize({a}, p=1, dim={d})", "{a}.prod({d}, keepdim=True)",
    "{a}.std((0,))", "{a}.var(correction=0)", "{a}.scatter_reduce({d}, lib.zeros({a}.shape, dtype=lib.int64), {s}, 'sum')",
    "{a}.scatter_reduce({d}, lib.zeros({a}.shape, dtype=lib.int64), {s}, 'mean')",
    "{a}.scatter_reduce({d}, lib.zeros({a}.shape, dtype=lib.int64), {s}, 'prod')",
    "{a}.scatter_reduce({d}, lib.zeros({a}.shape, dtype=lib.int64), {s}, 'amax')",
    "{a}.index_reduce({d}, lib.tensor([{i}]), {s}.narrow({d}, 0, 1), 'amin')",
    "{a}.index_reduce({d}, lib.tensor([{i}]), {s}.narrow({d}, 0, 1), 'mean')",
]  # fmt: skip
VIEWS = [
    "{a}.t()", "{a}.transpose({d}, {e})", "{a}.unsqueeze({d})", "{a}.squeeze()", "{a}.squeeze({d})", "{a}.reshape({shape})", "{a}.view({shape})",
    "{a}.flatten()", "{a}.permute({perm})", "{a}.select({d}, {i})", "{a}.narrow({d}, {lo}, 1)", "{a}[{index}]", "{a}.diagonal()",
    "{a}.unfold({d}, 1, 1)", "{a}.chunk(2, {d})[0]", "{a}.unbind({d})[{i}]", "{a}.split(1, {d})[{i}]", "{a}.tensor_split(2, {d})[1]",
    "{a}.expand_as({s})", "{a}.view_as({a})", "{a}.movedim({d}, {e})", "{a}.swapaxes({d}, {e})", "{a}.mT",
    "{a}.unsqueeze(-1).expand(*{a}.shape, 2)", "{a}.ravel()", "{a}.as_strided((2,), (1,))", "{a}.flip({d})", "{a}.roll(1, {d})",
    "{a}.repeat_interleave(2, {d})", "{a}.tril()", "{a}.triu()", "lib.diag_embed({a})", "{a}.unflatten({d}, (1, -1))",
    "{a}.index_select({d}, lib.tensor([{i}, 0]))", "{a}.gather({d}, lib.zeros({a}.shape, dtype=lib.int64))", "{a}.take(lib.tensor([0, 0]))",
    "{a}.masked_select({m})", "{a}[{m}]", "{a}[lib.tensor([0, 0])]", "{a}[..., None]", "F.pad({a}, (1, 0))", "lib.diff({a}, dim={d})",
    "{a}.rot90()", "lib.select_scatter({a}, {c} * lib.ones_like({a}.select({d}, {i})), {d}, {i})", "{a}.swapdims({d}, {e}).contiguous()",
    "{a}.unsafe_chunk(2, {d})[0]",
    "{a}.T", "{a}.mH", "{a}.adjoint()", "{a}.squeeze((0, -1))", "{a}.movedim((0,), (-1,))", "{a}.hsplit(1)[0]",
    "{a}.split([1, {a}.shape[{d}] - 1], {d})[1]", "{a}.expand(2, *{a}.shape)", "{a}.broadcast_to((2, *{a}.shape))", "lib.atleast_2d({a})",
    "lib.atleast_3d({a})", "{a}.diagonal(1)", "{a}.diagonal_scatter({a}.diagonal() * 2)",
    "lib.slice_scatter({a}, {a}.narrow({d}, 0, 1) * {c}, {d}, 0, 1)", "{a}.as_strided_scatter({a}.as_strided((2,), (1,)) * 2, (2,), (1,))",
    "{a}.index_put((lib.tensor([0, 0]),), {a}[0], accumulate=True)", "{a}.tile((2,))", "{a}.repeat(2, *[1] * {a}.dim())",
    "lib.take_along_dim({a}, {a}.argsort({d}), {d})", "{a}.as_strided((2, 1), (1, 3), 1)", "{a}.unfold({d}, 2, 1)",
    "{a}.index_fill({d}, lib.tensor([0]), {c})", "{a}.masked_scatter({m}, {s}.clone())",
    "{a}.scatter({d}, lib.zeros({a}.shape, dtype=lib.int64), {s})", "{a}.scatter_add({d}, lib.zeros({a}.shape, dtype=lib.int64), {s})",
    "{a}.index_copy({d}, lib.tensor([{i}]), {s}.narrow({d}, 0, 1))", "{a}.index_add({d}, lib.tensor([{i}]), {s}.narrow({d}, 0, 1), alpha=2)",
    "F.pad({a}.reshape(1, 1, -1), (1, 1), mode='reflect')", "F.pad({a}.reshape(1, 1, -1), (1, 1), mode='circular')", "F.pad({a}, (-1, 0))",
    "{a}.fliplr()", "lib.view_as_real({a}.view(lib.complex128))", "{a}.trace()", "lib.diag({a})", "{a}.unsqueeze({d}).squeeze({d})",
    "{a}.flatten(0, -1)", "{a}.tril(-1)", "{a}.diff(2, dim={d})", "{a}[{index}][{index}]", "{a}.unsafe_split(1, {d})[0]",
    "lib.broadcast_to({a}, {s}.shape).contiguous()", "{a}.unfold({d}, 1, 1).transpose(0, -1)",
]  # fmt: skip
MATRICES = [
    "{a}.reshape(1, -1) @ {a}.reshape(-1, 1)", "{a}.reshape(-1, 1) @ {s}.reshape(1, -1)", "{a} @ {a}.mT",
    "lib.matmul({a}, {s}.transpose(-1, -2))", "lib.outer({a}, {s})", "lib.einsum('...i,...i->...', {a}, {s})", "lib.tensordot({a}, {s}, dims=1)",
    "lib.kron({a}, {s})", "F.linear({a}, {s})", "F.cosine_similarity({a}, {s}, dim={d})", "F.layer_norm({a}, {a}.shape[-1:])",
    "F.mse_loss({a}, {s})", "F.smooth_l1_loss({a}, {s})", "F.huber_loss({a}, {s}, reduction='none')",
    "F.conv1d({a}.reshape(1, 1, -1), lib.full((1, 1, 2), 0.5, dtype=lib.float64), padding=1)",
    "F.avg_pool1d({a}.reshape(1, 1, -1), 2, ceil_mode=True)", "F.max_pool1d({a}.reshape(1, 1, -1), 2, ceil_mode=True)",
    "F.interpolate({a}.reshape(1, 1, -1), scale_factor=2, mode='linear')", "F.unfold({a}.reshape(1, 1, 1, -1), (1, 2))",
    "lib.linalg.det({a} @ {a}.mT + lib.eye({a}.shape[-2], dtype=lib.float64))",
    "lib.fft.rfft({a}).abs()", "lib.view_as_real(lib.fft.fft({a}))", "lib.complex({a}, {s}).abs()",
    "F.glu({a}, {d})", "lib.bmm({a}.reshape(1, 1, -1), {s}.reshape(1, -1, 1))", "lib.addmm({a}, {s}, {s})", "F.softmin({a}, dim={d})",
    "F.instance_norm({a}.reshape(1, 1, -1))",
    "lib.linalg.inv({a} @ {a}.mT + 2 * lib.eye({a}.shape[-2], dtype=lib.float64))",
    "lib.linalg.solve({a} @ {a}.mT + 2 * lib.eye({a}.shape[-2], dtype=lib.float64), {a})",
    "lib.linalg.cholesky({a} @ {a}.mT + 2 * lib.eye({a}.shape[-2], dtype=lib.float64))", "lib.linalg.eigvalsh({a} @ {a}.mT)",
    "lib.linalg.svdvals({a})", "lib.linalg.slogdet({a} @ {a}.mT + lib.eye({a}.shape[-2], dtype=lib.float64))[1]",
    "lib.linalg.pinv({a} @ {a}.mT + lib.eye({a}.shape[-2], dtype=lib.float64))", "lib.linalg.matrix_exp({a} @ {a}.mT)",
    "lib.linalg.matrix_power({a} @ {a}.mT, 3)", "lib.linalg.qr({a})[1].abs()",
    "lib.baddbmm({a}.reshape(1, 1, -1)[..., :1], {a}.reshape(1, 1, -1), {s}.reshape(1, -1, 1))", "lib.addr({a}, {s}.reshape(-1), {s}.reshape(-1))",
    "{a}.reshape(-1).dot({s}.reshape(-1))", "{a}.inner({s})", "F.batch_norm({a}.reshape(1, 1, -1), None, None, training=True)",
    "F.group_norm({a}.reshape(1, 1, -1), 1)", "F.rms_norm({a}, {a}.shape[-1:])", "F.conv_transpose1d({a}.reshape(1, 1, -1), {s}.reshape(1, 1, -1))",
    "F.conv1d({a}.reshape(1, 1, -1), {s}.reshape(1, 1, -1), padding=1)",
    "F.conv2d({a}.reshape(1, 1, 1, -1), {s}.reshape(1, 1, -1, 1), padding=(2, 0))",
    "F.scaled_dot_product_attention({a}.reshape(1, -1, 1), {s}.reshape(1, -1, 1), {a}.reshape(1, -1, 1))",
    "F.cross_entropy({a}.reshape(1, -1), lib.tensor([0]))",
    "F.cross_entropy({a}.reshape(1, -1), {s}.reshape(1, -1).softmax(-1), label_smoothing=0.1)",
    "F.nll_loss({a}.reshape(1, -1), lib.tensor([0]), reduction='none')", "F.binary_cross_entropy_with_logits({a}, {s}.sigmoid())",
    "F.binary_cross_entropy({a}.sigmoid(), {s}.sigmoid())",
    "F.kl_div({a}.reshape(-1).log_softmax(-1), {s}.reshape(-1).softmax(-1), reduction='sum')", "F.gaussian_nll_loss({a}, {s}, {s}.abs() + 0.1)",
    "F.poisson_nll_loss({a}, {s})", "F.l1_loss({a}, {s})", "F.margin_ranking_loss({a}, {s}, {s}.detach().sign())",
    "F.triplet_margin_loss({a}.reshape(1, -1), {s}.reshape(1, -1), {a}.reshape(1, -1) + 0.3)", "F.pairwise_distance({a}, {s})",
    "F.embedding(lib.tensor([0, 0]), {a}.reshape(-1, 1))", "F.embedding_bag(lib.tensor([[0, 0]]), {a}.reshape(-1, 1))",
    "F.adaptive_avg_pool1d({a}.reshape(1, 1, -1), 2)", "F.adaptive_max_pool1d({a}.reshape(1, 1, -1), 2)",
    "F.lp_pool1d({a}.reshape(1, 1, -1), 2, 2)", "F.max_pool2d({a}.reshape(1, 1, 1, -1), (1, 2), stride=1)",
    "F.interpolate({a}.reshape(1, 1, 1, -1), scale_factor=2, mode='bilinear')",
    "F.grid_sample({a}.reshape(1, 1, 1, -1), {s}.reshape(1, 1, -1, 1).expand(1, 1, -1, 2), align_corners=True)", "lib.fft.rfft({a}).real",
    "lib.fft.fft2({a}).abs()", "lib.bilinear({a}.reshape(1, -1)[:, :1], {s}.reshape(1, -1)[:, :1], {a}.reshape(-1)[:1].reshape(1, 1, 1), None)",
]  # fmt: skip
# With these, EFFECTS and UNDER_NO_GRAD, a gradient is not the derivative of the values: finite differences cannot check it.
MODES = [
    "Chosen.apply({a}, {s}.detach())", "Chosen.apply({a}.detach(), {s})",
    "{a}.detach()", "{a}.detach() * {s}", "{a}.data.clone()",
    "lib.autograd.grad({a}.exp().sum(), {a})[0]", "{a}.detach().requires_grad_()", "({a}.float() * 2).double()", "{a}.bfloat16().double()",
    "({a}.half() + {s}.half()).double()", "{a}.float().double()", "{a}.bfloat16().mul(0.5).double()", "Once.apply({a})",
    "lib.add({a}.detach(), {s}.detach(), out=lib.empty(0, dtype=lib.float64))", "lib.sum({a}.detach(), {d}, out=lib.empty(0, dtype=lib.float64))",
    "lib.add({a}, {s}, out=lib.empty(0, dtype=lib.float64))",
]  # fmt: skip
TRANSFORMS = [
    "checkpoint(lambda t: t.sin() * t, {a}, use_reentrant=False)", "checkpoint(lambda t, u: (t * u).tanh_(), {a}, {s}, use_reentrant=False)",
    "vmap(lambda t: t.sin() * t.sum())({a})", "vmap(lambda t, u: (t * u).cumsum(0), in_dims={d})({a}, {s})",
    "vmap(lambda t: t.exp().view(-1))({a})", "vmap(grad(lambda t: (t * t).sin().sum()))({a})", "grad(lambda t: (t.exp() * t).sum())({a})",
    "jacrev(lambda t: t.sin().reshape(-1))({a}) * 1", "jvp(lambda t: t.tanh(), ({a},), ({s},))[1]", "vjp(lambda t: t.cos(), {a})[1]({s})[0]",
    "vmap(lambda t: t.clone().mul_(t))({a})", "Cube.apply({a})", "Exp.apply({a})", "Swap.apply({a}, {s})[0]", "Swap.apply({a}, {s})[1]",
    "WithMask.apply({a})[0]", "Identity.apply({a})",
    "checkpoint(Exp.apply, {a}, use_reentrant=False)", "checkpoint(lambda t: Swap.apply(t, {s})[0].exp_(), {a}, use_reentrant=False)",
    "checkpoint(lambda t: checkpoint(lambda u: u.exp() * u, t.sin(), use_reentrant=False).tanh(), {a}, use_reentrant=False)",
    "Sine.apply({a})", "vmap(Sine.apply)({a})", "grad(lambda t: Sine.apply(t).sum())({a})", "jvp(Sine.apply, ({a},), ({s},))[1]",
    "checkpoint(Sine.apply, {a}, use_reentrant=False)", "vmap(lambda t: (t.clone().unsqueeze(0).exp_() * t).sum())({a})",
    "jacfwd(lambda t: (t * t).reshape(-1))({a}) * 1", "hessian(lambda t: (t * t * t).sum())({a}).sum()",
    "vmap(lambda t: t.select(0, 0) * t, in_dims={d}, out_dims=-1)({a})", "vmap(vmap(lambda t: t.exp() * t))({a})",
    "jacfwd(jacrev(lambda t: (t.sin() * t).sum()))({a}) * 1", "jacrev(jacfwd(lambda t: (t.sin() * t).sum()))({a}) * 1",
    "grad(lambda t: jvp(lambda u: (u * u * u).sum(), (t,), (lib.ones_like(t),))[1])({a})",
    "jvp(grad(lambda t: (t.exp() * t).sum()), ({a},), ({s},))[1]", "vjp(grad(lambda t: (t.sin() * t).sum()), {a})[1]({s})[0]",
    "vmap(lambda t: jvp(lambda u: u.sin() * u, (t,), (t,))[1])({a})", "grad(grad(grad(lambda t: t.sin() * t.exp())))({a}.sum())",
    "jvp(lambda t: jvp(lambda u: u.exp() * u, (t,), (t,))[1], ({a},), ({s},))[1]",
    "vmap(grad(lambda t: jvp(lambda u: (u.exp() * u).sum(), (t,), (t,))[1]))({a})", "vmap(vmap(grad(lambda t: t.exp() * t)))({a})",
    "vmap(jacrev(lambda t: t * t.sum()))({a})", "linearize(lambda t: t.sin() * t, {a})[1]({s})",
    "lib.autograd.functional.jacobian(lambda t: t.sin(), {a}, create_graph=True) * 1",
    "lib.autograd.functional.hvp(lambda t: (t.sin() * t).sum(), {a}, {s}, create_graph=True)[1]",
    "lib.autograd.functional.vhp(lambda t: (t * t * t).sum(), {a}, {s}, create_graph=True)[1]",
    "lib.autograd.grad(({a} * {s}).sin().sum(), {a}, create_graph=True)[0]", "lib.autograd.grad({a}.exp() * {a}, {a}, {s}, create_graph=True)[0]",
    "checkpoint(lambda t: vmap(lambda u: u.sin() * u)(t), {a}, use_reentrant=False)",
    "checkpoint(lambda t: grad(lambda u: (u * u).sin().sum())(t), {a}, use_reentrant=False)",
    "checkpoint(lambda t: lib.autograd.grad((t * t).sin().sum(), t, create_graph=True)[0], {a}, use_reentrant=False)",
    "vmap(lambda t: lib.cat([t, t]))({a})", "vmap(lambda t: t.sort()[0])({a})", "vmap(lambda t: t @ t)({a})",
    "vmap(lambda t, u: t + u, in_dims=(0, None))({a}, {s}.sum())", "vmap(lambda t: t.select(0, 0).mul_(t.select(0, 0)))({a}.clone())",
    "vmap(lambda t: t.softmax(0), in_dims={d}, out_dims={d})({a})", "vmap(lambda t: t[t.argsort()])({a})", "Halves.apply({a})[0]",
    "Halves.apply({a})[1]", "ViewOf.apply({a})", "Scale.apply({a}, {c})", "Chosen.apply({a}, {s})",
    "Both.apply({a})", "vmap(Both.apply)({a})", "checkpoint(Both.apply, {a}, use_reentrant=False)",
]  # fmt: skip
SPARSE = [
    "{a}.to_sparse().to_dense()", "({a}.to_sparse() * {c}).to_dense()", "lib.sparse.mm({a}.reshape(1, -1).to_sparse(), {s}.reshape(-1, 1))",
    "lib.sparse.sum({a}.to_sparse())", "{a}.to_sparse().coalesce().values() * 1", "({a}.to_sparse() + {s}.to_sparse()).to_dense()",
    "lib.sparse_coo_tensor(lib.tensor([[0, 1, 0]]), {a}.reshape(-1)[:1].expand(3), (3,)).to_dense()",
    "lib.sparse_coo_tensor(lib.arange({a}.numel()).reshape(1, -1), {a}.reshape(-1)).coalesce().to_dense()",
    "{s}.sparse_mask({a}.detach().to_sparse()).to_dense()", "{a}.to_sparse().transpose(0, -1).to_dense()",
]  # fmt: skip
# Complex values: made from real ones, changed, and made real again.
COMPLEX = [
    "lib.complex({a}, {s})", "lib.fft.fft({a})", "{a} * 1j", "{a} + 0.5j", "lib.polar({a}.abs(), {s})",
    "lib.view_as_complex(lib.stack([{a}, {s}], -1))", "{z}.conj()", "{z}.conj()", "{z} * {z}", "{z} * {c}", "{z}.exp()", "{z}.sin()", "{z}.tanh()",
    "{z}.conj_physical()", "{z}.sum()", "{z}.sum({d})", "{z}.mean()", "{z}.prod()", "{z} * {z}.conj()", "{z} / ({z} + 3)", "{z}.t()",
    "{z}.transpose({d}, {e})", "{z}[{index}]", "{z}.reshape({shape})", "{z}.unsqueeze({d})", "lib.fft.ifft({z})", "{z}.clone()", "{z}.cumsum({d})",
    "{z}.square()", "{z}.sigmoid()", "lib.where({z}.real > 0, {z}, {z}.conj())", "{z}.reshape(1, -1) @ {z}.reshape(-1, 1)",
    "lib.einsum('...i,...i->...', {z}, {z}.conj())", "lib.cat([{z}, {z}.conj()], {d})", "{z}.resolve_conj()", "{z}.real", "{z}.imag",
    "{z}.conj().imag", "{z}.abs()", "{z}.abs()", "{z}.angle()", "lib.view_as_real({z})", "lib.view_as_real({z}.conj().resolve_conj())",
    "{z}.sgn().real", "{z}.norm()", "lib.fft.irfft({z})", "lib.vdot({z}.reshape(-1), {z}.reshape(-1)).real", "vmap(lambda t: t * t.conj())({z})",
    "checkpoint(lambda t: t.exp() * t.conj(), {z}, use_reentrant=False)",
]  # fmt: skip
COMPLEX_WRITES = [
    "{z}.mul_({c})", "{z}.mul_(0.5j)", "{z}.add_(0.5j)", "{z}.conj_physical_()", "{z}.real.mul_({c})", "{z}.imag.zero_()", "{z}.conj().mul_(0.5j)",
    "{z}.conj().imag.add_({c})", "{z}.exp_()", "{z}.tanh_()", "{z}.copy_({z}.conj())", "{z}[{index}] = {c}", "{z}[{index}].mul_(0.5j)",
    "{z}.t().exp_()", "lib.view_as_real({z}).tanh_()", "{z}.select({d}, {i}).copy_({z}.select({d}, 0).conj().clone())", "{z}.neg_()",
    "{z}.square_()", "{z}.unsqueeze(0).conj().tanh_()", "{z}.zero_()", "{z}.real.copy_({z}.imag.clone())",
]  # fmt: skip
WRITES = [
    "{w}.add_({c})", "{w}.mul_({c})", "{w}.add_({s})", "{w}.mul_({s})", "{w}.sub_({b})", "{w}.div_({b})", "{w}.copy_({s})", "{w}.sin_()",
    "{w}.exp_()", "{w}.tanh_()", "{w}.sigmoid_()", "{w}.relu_()", "{w}.neg_()", "{w}.square_()", "{w}.clamp_(-0.6, 0.7)", "{w}.zero_()",
    "{w}.fill_({c})", "{w}.abs_()", "{w}.cumsum_({d})", "{w}.masked_fill_({m}, {c})", "{w}[{index}] = {c}", "{w}[{index}].mul_({c})",
    "{w}[{index}] += {c}", "{w}.select({d}, {i}).copy_({w}.select({d}, 0).clone())", "{w}.select({d}, {i}).exp_()", "{w}.t_()",
    "{w}.transpose_({d}, {e})", "{w}.unsqueeze_({d})", "{w}.squeeze_()", "{w}.fill_diagonal_({c})", "{w}.tril_()",
    "{w}.addcmul_({s}, {s}, value={c})", "{w}.index_fill_({d}, lib.tensor([{i}]), {c})",
    "{w}.index_add_({d}, lib.tensor([{i}]), {s}.narrow({d}, {i}, 1))", "{w}.index_copy_({d}, lib.tensor([{i}]), {s}.narrow({d}, 0, 1))",
    "{w}.scatter_({d}, lib.zeros({s}.shape, dtype=lib.int64), {c})", "{w}.scatter_add_({d}, lib.zeros({s}.shape, dtype=lib.int64), {s})",
    "{w}.masked_scatter_({m}, {s}.clone())", "{w}[{m}] = {c}", "{w}.view(-1)[0].mul_({c})", "{w}.diagonal().fill_({c})", "{w}.pow_(2)",
    "{w}.lerp_({s}, {c})", "{w}.expm1_()", "{w}.atan_()", "{w}.reciprocal_()", "{w}.t().mul_({c})", "{w}.unsqueeze(0).tanh_()",
    "{w}.permute({perm}).sigmoid_()", "{w}.renorm_(2, {d}, 0.5)", "{w}.cumprod_({d})", "{w}.swapaxes_({d}, {e})", "F.relu({w}, inplace=True)",
    "F.elu({w}, inplace=True)", "F.leaky_relu({w}, inplace=True)", "F.silu({w}, inplace=True)", "lib.addmm({w}, {s}, {s}, out=None)",
    "Double.apply({w})", "{w}.index_put_((lib.tensor([0, 0]),), {w}[0].clone(), accumulate=True)",
    "{w}.addcdiv_({s}, {s}.abs() + 1)", "{w}.fmod_(0.7)", "{w}.remainder_(0.7)", "{w}.floor_()", "{w}.round_()", "{w}.frac_()", "{w}.sinh_()",
    "{w}.cos_()", "{w}.erf_()", "{w}.lgamma_()", "{w}.hypot_({s})", "{w}.atan2_({s})", "{w}.copysign_({s})", "{w}.clamp_min_({c})",
    "{w}.clamp_(max={s})", "{w}.xlogy_({s}.abs() + 0.1)", "{w}.logit_(0.2)", "{w}.nan_to_num_()",
    "{w}.scatter_reduce_({d}, lib.zeros({s}.shape, dtype=lib.int64), {s}, 'sum')",
    "{w}.index_reduce_({d}, lib.tensor([{i}]), {s}.narrow({d}, 0, 1), 'amax')", "{w}.put_(lib.tensor([0]), {s}.reshape(-1)[:1])",
    "{w}.squeeze_({d})", "{w}.triu_()", "{w}.as_strided_((2,), (1,))", "F.hardtanh({w}, inplace=True)", "F.selu({w}, inplace=True)",
    "F.hardswish({w}, inplace=True)", "F.mish({w}, inplace=True)", "F.threshold({w}, 0.1, 0.2, inplace=True)", "lib.add({s}, {s}, out={w})",
    "AddInto.apply({w}, {s})", "{w}[{index}] = {s}[{index}]", "{w}[{index}].copy_({s}[{index}])", "{w}[..., 0] = {w}[..., -1].clone()",
    "{w} += {s}", "{w} *= {c}", "{w}.view(-1)[:1].exp_()", "{w}.unbind({d})[0].mul_({c})", "{w}.split(1, {d})[0].add_({c})",
    "{w}.diagonal().copy_({w}.diagonal() * 2)", "{w}[{index}].unsqueeze(0).mul_({w}[{index}])", "{w}.T.sin_()", "{w}.unfold({d}, 1, 1).exp_()",
    "{w}.movedim({d}, {e}).square_()", "{w}.narrow({d}, {lo}, 1).zero_()", "{w}.sub_({w})", "{w}.mul_({w})",
    "{w}.real.add_({c})",
]  # fmt: skip
# Statements with an effect that is not a value, and writes that autograd does not record.
EFFECTS = [
    "{w}.register_hook(lambda g: g * 0.5)", "{a}.register_hook(lambda g: None)", "{w}.register_hook(lambda g: g.sin())", "{w}.retain_grad()",
    "{w}.requires_grad_()", "{a}.register_hook(lambda g: g.clone())", "{w}.detach_()", "{w}.data.mul_({c})", "{w}.grad_fn.register_prehook(halved)",
    "{w}.grad_fn.register_hook(lambda inputs, outputs: None)", "{w}.register_hook(lambda g: g.mul(2).t().t())",
    "lib.autograd.graph.register_multi_grad_hook(({a}, {s}), lambda gradients: None)", "{z}.register_hook(lambda g: g * 0.5j)", "{z}.detach_()",
    "{a}.sum().backward(retain_graph=True)", "({a} * {s}).sum().backward()", "{w}.register_hook(lambda g: g * 2).remove()",
    "{w}.requires_grad_(False)", "{w}.detach().mul_({c})", "{a}.is_leaf and x0.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(2))",
    "{a}.backward(lib.ones_like({a}), retain_graph=True, inputs=[x0])",
]  # fmt: skip
UNDER_NO_GRAD = [
    "{w}.mul_({c})", "{w}.add_({s})", "{w}.zero_()", "{w}.copy_({s})", "lib.mul({s}, {c}, out={w})", "lib.cumsum({s}, {d}, out={w})",
    "{w}[{index}] = {c}", "{w}.t_()", "{w}.unsqueeze_(0)", "{w}.requires_grad_()",
]  # fmt: skip

RECORDED = [POINTWISE, BINARY, REDUCTIONS, VIEWS, VIEWS, MATRICES]  # PyTorch's transforms do not take hooks of saved tensors
VALUES = [*RECORDED, TRANSFORMS, COMPLEX, COMPLEX, SPARSE]

FUNCTIONS = """
class Cube(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g
class Exp(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y
class Swap(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y
    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h
class WithMask(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return x * mask, mask
    @staticmethod
    def backward(ctx, g, _):
        return g * ctx.saved_tensors[0]
class Identity(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g
class Double(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return 2 * g
class Sine(lib.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x.sin()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()
    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0].cos()
class Halves(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 0.5, x * 2
    @staticmethod
    def backward(ctx, g, h):
        return None if g is None and h is None else g * 0.5 if h is None else h * 2 if g is None else g * 0.5 + h * 2
class ViewOf(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)
    @staticmethod
    def backward(ctx, g):
        return g * 1
class Scale(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor
    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None
class Chosen(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y if ctx.needs_input_grad[0] else None, g * x if ctx.needs_input_grad[1] else None
class Both(lib.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x.exp() * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (y + x.exp())
    @staticmethod
    def jvp(ctx, t):
        x, y = ctx.saved_tensors
        return t * (y + x.exp())
class Once(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3
    @staticmethod
    @lib.autograd.function.once_differentiable
    def backward(ctx, g):
        return g * 3
class AddInto(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.add_(y)
    @staticmethod
    def backward(ctx, g):
        return g, g
def halved(gradients):
    return tuple(None if g is None else g * 0.5 for g in gradients)
def packed():
    return lib.autograd.graph.saved_tensors_hooks(lambda t: [t.clone()], lambda parts: parts[0])
F = lib.nn.functional
no_grad = lib.no_grad
from_func = ("vmap", "grad", "jacrev", "jacfwd", "hessian", "jvp", "vjp", "linearize")
vmap, grad, jacrev, jacfwd, hessian, jvp, vjp, linearize = (getattr(lib.func, name) for name in from_func)
"""
