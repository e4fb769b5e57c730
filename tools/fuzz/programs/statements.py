"""The statements that random programs consist of, as templates.

A template assigns to `{new}` or writes to `{w}`. Placeholders are filled by `generate.py`:

- `{a}`: any variable, or `{w}`: a variable that is not a leaf; the same one everywhere in the statement
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
]  # fmt: skip
BINARY = [
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{c} - {a}", "{a} * {a}", "lib.maximum({a}, {s})", "lib.minimum({a}, {s})",
    "lib.atan2({a}, {s})", "lib.where({m}, {a}, {s})", "lib.where({m}, {a}, {c})", "lib.lerp({a}, {s}, {c})", "lib.hypot({a}, {s})",
    "lib.addcmul({a}, {s}, {s}, value={c})", "lib.addcdiv({a}, {s}, {s}.abs() + 1)", "{a}.add({s}, alpha={c})", "{a}.masked_fill({m}, {c})",
    "lib.fmod({a}, 0.7)", "lib.remainder({a}, 0.7)", "lib.copysign({a}, {s})", "lib.logaddexp({a}, {s})", "lib.float_power({a}, 2)",
    "lib.dist({a}, {s})", "lib.cat([{a}, {s}], {d})", "lib.stack([{a}, {s}], {d})", "lib.hstack([{a}, {s}])",
    "lib.cdist({a}.reshape(-1, 1), {s}.reshape(-1, 1))",
]  # fmt: skip
REDUCTIONS = [
    "{a}.sum()", "{a}.sum({d})", "{a}.sum({d}, keepdim=True)", "{a}.mean()", "{a}.mean({d})", "{a}.prod()", "{a}.prod({d})", "{a}.var()",
    "{a}.std({d}, unbiased=False)", "{a}.norm()", "{a}.norm(dim={d})", "{a}.norm(p=1)", "{a}.amax({d})", "{a}.amin()", "{a}.max()",
    "{a}.max({d}).values", "{a}.min({d})[0]", "{a}.median()", "{a}.median({d}).values", "{a}.logsumexp({d})", "{a}.softmax({d})",
    "{a}.log_softmax({d})", "{a}.cumsum({d})", "{a}.cumprod({d})", "{a}.cummax({d})[0]", "{a}.logcumsumexp({d})", "{a}.sort({d})[0]",
    "{a}.sort({d}, descending=True).values", "{a}.topk(1, {d})[0]", "{a}.kthvalue(1, {d})[0]", "{a}.quantile(0.3)", "{a}.nanmean()",
    "{a}.diff(dim={d})", "{a}.aminmax(dim={d}).max", "lib.trapezoid({a}, dim={d})", "F.normalize({a}, dim={d})", "lib.linalg.vector_norm({a}, 3)",
    "{a}.renorm(2, {d}, 0.6)", "lib.var_mean({a}, {d})[0]",
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
]  # fmt: skip
# With these, EFFECTS and UNDER_NO_GRAD, a gradient is not the derivative of the values: finite differences cannot check it.
MODES = [
    "{a}.detach()", "{a}.detach() * {s}", "{a}.data.clone()",
]  # fmt: skip
TRANSFORMS = [
    "checkpoint(lambda t: t.sin() * t, {a}, use_reentrant=False)", "checkpoint(lambda t, u: (t * u).tanh_(), {a}, {s}, use_reentrant=False)",
    "vmap(lambda t: t.sin() * t.sum())({a})", "vmap(lambda t, u: (t * u).cumsum(0), in_dims={d})({a}, {s})",
    "vmap(lambda t: t.exp().view(-1))({a})", "vmap(grad(lambda t: (t * t).sin().sum()))({a})", "grad(lambda t: (t.exp() * t).sum())({a})",
    "jacrev(lambda t: t.sin().reshape(-1))({a}) * 1", "jvp(lambda t: t.tanh(), ({a},), ({s},))[1]", "vjp(lambda t: t.cos(), {a})[1]({s})[0]",
    "vmap(lambda t: t.clone().mul_(t))({a})", "Cube.apply({a})", "Exp.apply({a})", "Swap.apply({a}, {s})[0]", "Swap.apply({a}, {s})[1]",
    "WithMask.apply({a})[0]", "Identity.apply({a})",
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
]  # fmt: skip
# Statements with an effect that is not a value, and writes that autograd does not record.
EFFECTS = [
    "{w}.register_hook(lambda g: g * 0.5)", "{a}.register_hook(lambda g: None)", "{w}.register_hook(lambda g: g.sin())", "{w}.retain_grad()",
    "{w}.requires_grad_()", "{a}.register_hook(lambda g: g.clone())", "{w}.detach_()", "{w}.data.mul_({c})",
]  # fmt: skip
UNDER_NO_GRAD = ["{w}.mul_({c})", "{w}.add_({s})", "{w}.zero_()", "{w}.copy_({s})"]

VALUES = [POINTWISE, BINARY, REDUCTIONS, VIEWS, VIEWS, MATRICES, TRANSFORMS]

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
F = lib.nn.functional
no_grad = lib.no_grad
vmap, grad, jacrev, jvp, vjp = lib.func.vmap, lib.func.grad, lib.func.jacrev, lib.func.jvp, lib.func.vjp
"""
