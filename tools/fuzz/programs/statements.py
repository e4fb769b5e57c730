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
    "checkpoint(Exp.apply, {a}, use_reentrant=False)", "checkpoint(lambda t: Swap.apply(t, {s})[0].exp_(), {a}, use_reentrant=False)",
    "checkpoint(lambda t: checkpoint(lambda u: u.exp() * u, t.sin(), use_reentrant=False).tanh(), {a}, use_reentrant=False)",
    "Sine.apply({a})", "vmap(Sine.apply)({a})", "grad(lambda t: Sine.apply(t).sum())({a})", "jvp(Sine.apply, ({a},), ({s},))[1]",
    "checkpoint(Sine.apply, {a}, use_reentrant=False)", "vmap(lambda t: (t.clone().unsqueeze(0).exp_() * t).sum())({a})",
    "jacfwd(lambda t: (t * t).reshape(-1))({a}) * 1", "hessian(lambda t: (t * t * t).sum())({a}).sum()",
    "vmap(lambda t: t.select(0, 0) * t, in_dims={d}, out_dims=-1)({a})", "vmap(vmap(lambda t: t.exp() * t))({a})",
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
]  # fmt: skip
# Statements with an effect that is not a value, and writes that autograd does not record.
EFFECTS = [
    "{w}.register_hook(lambda g: g * 0.5)", "{a}.register_hook(lambda g: None)", "{w}.register_hook(lambda g: g.sin())", "{w}.retain_grad()",
    "{w}.requires_grad_()", "{a}.register_hook(lambda g: g.clone())", "{w}.detach_()", "{w}.data.mul_({c})", "{w}.grad_fn.register_prehook(halved)",
    "{w}.grad_fn.register_hook(lambda inputs, outputs: None)", "{w}.register_hook(lambda g: g.mul(2).t().t())",
    "lib.autograd.graph.register_multi_grad_hook(({a}, {s}), lambda gradients: None)", "{z}.register_hook(lambda g: g * 0.5j)", "{z}.detach_()",
]  # fmt: skip
UNDER_NO_GRAD = ["{w}.mul_({c})", "{w}.add_({s})", "{w}.zero_()", "{w}.copy_({s})"]

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
def halved(gradients):
    return tuple(None if g is None else g * 0.5 for g in gradients)
def packed():
    return lib.autograd.graph.saved_tensors_hooks(lambda t: [t.clone()], lambda parts: parts[0])
F = lib.nn.functional
no_grad = lib.no_grad
from_func = ("vmap", "grad", "jacrev", "jacfwd", "hessian", "jvp", "vjp")
vmap, grad, jacrev, jacfwd, hessian, jvp, vjp = (getattr(lib.func, name) for name in from_func)
"""
