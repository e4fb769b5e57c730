"""Factories, methods, operators, linear algebra, transforms and special functions."""

import math

import numpy as np

import undertow as ut

a = ut.zeros(2, 3)
b = ut.ones((2, 3), dtype=ut.float64, requires_grad=True)
c = ut.arange(6).reshape(2, 3).to(ut.float32)
d = ut.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=ut.float32, device="cpu")
e = ut.from_numpy(np.zeros((2, 3)))
f = 2 * c + d / 3 - 1
f += 1
g = (f @ d.T) ** 2
h = ut.where(f > 0, f, 0.0)
values, indices = d.sort(dim=-1, descending=True)
best = d.max(dim=1)
total: float = best.values.sum().item() + math.pi
row = d[0, 1:, None]
d[0] = 5
d[:, 1] = row[0]
mask = (d > 1) & ~(d < 0)
picked: ut.Tensor = d[mask]
parts = ut.split(d, 1, dim=1) + ut.chunk(d, 3, dim=1)
joined = ut.cat([c, d], dim=0)
stacked = ut.stack((c, d))
shape: tuple[int, ...] = joined.shape
count: int = joined.shape.numel() + joined.size(0) + len(joined)
array = joined.detach().numpy()
view = joined.view(-1).view(4, 3).permute(1, 0).contiguous()
summed = ut.sum(view, dim=(0, 1), keepdim=True) + ut.mean(view) + view.std(dim=0, correction=0).sum()
same = ut.allclose(view, view.clone(), rtol=1e-5)
einsum = ut.einsum("ij,kj->ik", c, d)
clamped = view.clamp(min=0.0).clamp_(max=1)
product = ut.matmul(c, d.mT)
sign, logdet = ut.linalg.slogdet(product.double() + ut.eye(2))
u, s, vh = ut.linalg.svd(product, full_matrices=False)
solved = ut.linalg.solve(product + ut.eye(2), ut.ones(2))
size: float = ut.linalg.norm(product, ord="fro").item()
spectrum = ut.fft.rfft(d, dim=-1, norm="ortho")
back = ut.fft.irfft(spectrum, n=3)
gamma = ut.special.gammaln(d.abs() + 1)
generator = ut.Generator().manual_seed(3)
noise = ut.randn(2, 3, generator=generator)
order = ut.randperm(5)
top = ut.topk(order, k=2).values
quant = ut.quantile(noise, 0.5, interpolation="nearest")
floored = ut.div(c, 2, rounding_mode="floor")
with ut.device("cpu"):
    inside = ut.empty(3)
print(a, b, e, g, h, values, indices, total, picked, parts, stacked, shape, count, array, summed, same, einsum, clamped, sign, logdet)
print(u, s, vh, solved, size, back, gamma, noise, top, quant, floored, inside)
