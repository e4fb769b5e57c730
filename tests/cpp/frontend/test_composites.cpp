// test_composites.cpp: broadcast_tensors, meshgrid, einsum and others, against products and sums written out.
#include <undertow/nn.h>
#include <undertow/signal.h>
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

using namespace undertow;

// Tensors that a function makes on the way are on the device of its input.
void devices() {
  namespace F = nn::functional;
  auto on_meta = [](const Tensor& t) { return t.is_meta(); };
  CHECK(on_meta(F::local_response_norm(ones({1, 4, 3}, kMeta), 2)));
  CHECK(on_meta(F::affine_grid(ones({1, 2, 3}, kMeta), {1, 1, 2, 2}, false)));
  CHECK(on_meta(F::embedding_bag(zeros({2, 3}, dtype(kLong).device(kMeta)), ones({4, 2}, kMeta))));
  CHECK(on_meta(stft(ones({16}, kMeta), 8, 4, 6, {}, true, "constant", false, {}, true)));
  CHECK(on_meta(nn::init::sparse_(ones({4, 2}, kMeta), 0.5)));
  CHECK(on_meta(detail::overlapped(ones({1, 3, 4}, kMeta), 2, 8)));
}

void shapes() {
  auto [rows, columns] = std::pair(arange(2), arange(3));
  variable_list ij = meshgrid({rows, columns}), xy = meshgrid({rows, columns}, "xy");
  CHECK(ij[0].equal(tensor({{0, 0, 0}, {1, 1, 1}})) && ij[1].equal(tensor({{0, 1, 2}, {0, 1, 2}})));
  CHECK(xy[0].equal(ij[0].t()) && xy[1].equal(ij[1].t()));
  CHECK(meshgrid({rows}, "xy")[0].equal(rows));
  CHECK(throws([&] { meshgrid({rows}, "yx"); }, "indexing must be \"ij\" or \"xy\": got \"yx\""));
  variable_list same = broadcast_tensors({rows.view({2, 1}), columns, ones({})});
  CHECK(same[0].equal(ij[0]) && same[1].equal(ij[1]) && same[2].equal(ones({2, 3})));
  CHECK(throws([&] { broadcast_tensors({rows, columns}); }, "sizes 2 and 3 of dimension -1 do not match"));
}

void joins() {
  Tensor a = tensor({1, 2}), b = tensor({3, 4, 5});
  CHECK(cartesian_prod({a, b}).equal(tensor({{1, 3}, {1, 4}, {1, 5}, {2, 3}, {2, 4}, {2, 5}})));
  CHECK(cartesian_prod({a}).equal(a) && throws([&] { cartesian_prod({a, ones({1, 1})}); }, "got shape [1, 1]"));
  CHECK(block_diag({tensor({{1}}), a}).equal(tensor({{1, 0, 0}, {0, 1, 2}})));
  CHECK((atleast_1d(tensor(1)).dim() == 1 && atleast_3d(a).sizes() == IntArrayRef({1, 2, 1})));
  CHECK((atleast_2d(a).sizes() == IntArrayRef({1, 2}) && atleast_3d(ones({2, 3})).sizes() == IntArrayRef({2, 3, 1})));
}

void distinct() {
  Tensor rows = tensor({{2, 1}, {0, 5}, {2, 1}});
  auto [values, inverse, counts] =
      unique_dim(rows, 0, /*sorted=*/true, /*return_inverse=*/true, /*return_counts=*/true);
  CHECK(values.equal(tensor({{0, 5}, {2, 1}})) && inverse.equal(tensor({1, 0, 1})) && counts.equal(tensor({1, 2})));
  auto [runs, at, lengths] = unique_consecutive(tensor({3, 3, 1, 3}), true, true);
  CHECK(runs.equal(tensor({3, 1, 3})) && at.equal(tensor({0, 0, 1, 2})) && lengths.equal(tensor({2, 1, 1})));
  CHECK(std::get<0>(unique_dim_consecutive(rows, 0)).equal(rows));
}

void products() {
  manual_seed(0);
  Tensor a = randn({2, 3}, kDouble), b = randn({3, 4}, kDouble), v = randn({3}, kDouble), m = randn({3, 3}, kDouble);
  Tensor x = randn({2, 3, 4}, kDouble), y = randn({2, 5, 4}, kDouble);
  CHECK(allclose(einsum("ij,jk->ik", {a, b}), a.mm(b)));
  CHECK(allclose(einsum("ij,jk", {a, b}), a.mm(b)));
  CHECK(allclose(einsum("ij , jk -> ki", {a, b}), a.mm(b).t()));
  CHECK(allclose(einsum("i,j->ij", {v, v}), v.view({3, 1}) * v));
  CHECK(allclose(einsum("i,i->", {v, v}), (v * v).sum()));
  CHECK(allclose(einsum("ij,j->i", {a, v}), a.mv(v)));
  CHECK(allclose(einsum("ij->j", {a}), a.sum({0})) && allclose(einsum("ij->", {a}), a.sum()));
  CHECK(einsum("ii->i", {m}).equal(m.diagonal()) && allclose(einsum("ii", {m}), m.diagonal().sum()));
  CHECK(einsum("ba", {a}).equal(a.t()));  // the order of the alphabet
  CHECK(allclose(einsum("bqd,bkd->bqk", {x, y}), x.bmm(y.transpose(1, 2))));
  CHECK(allclose(einsum("...ij->...ji", {x}), x.transpose(1, 2)));
  CHECK(allclose(einsum("...i,i->...", {a, v}), a.mv(v)));
  CHECK(allclose(einsum("...,...->...", {x, x[0]}), x * x[0]));
  CHECK(allclose(einsum("ij,jk,lk->il", {a, b, y[0]}), a.mm(b).mm(y[0].t())));
  CHECK(allclose(einsum("bij,kj->bk", {x, y[1]}), x.sum({1}).mm(y[1].t())));  // i is in one operand only
  CHECK(allclose(einsum("iij,j->i", {randn({3, 3, 3}, kDouble).zero_() + 1, v}), v.sum().expand({3})));
  CHECK((einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 4})}).equal(zeros({2, 4}))));
  CHECK((einsum("ij,jk->ik", {zeros({0, 3}), zeros({3, 4})}).sizes() == IntArrayRef({0, 4})));

  Tensor p = a.clone().requires_grad_(), q = b.clone().requires_grad_();
  Tensor weight = randn({2, 4}, kDouble);
  variable_list grads = autograd::grad({(einsum("ij,jk->ik", {p, q}) * weight).sum()}, {p, q});
  CHECK(allclose(grads[0], weight.mm(b.t())) && allclose(grads[1], a.t().mm(weight)));
}

void mistakes() {
  Tensor a = ones({2, 3});
  CHECK(throws([&] { einsum("ij,jk->ik", {a}); }, "is for 2 operands, and 1 were given"));
  CHECK(throws([&] { einsum("ijk->k", {a}); }, "operand 0 has 2 dimensions, and its labels \"ijk\" are for 3"));
  CHECK(throws([&] { einsum("ij,ij->ij", {a, a.t()}); }, "operand 1 has size 3 where another has 2"));
  CHECK(throws([&] { einsum("i1->i", {a}); }, "invalid label '1'"));
  CHECK(throws([&] { einsum("ij->k", {a}); }, "has a label that no operand has"));
  CHECK(throws([&] { einsum("ij->ii", {a}); }, "a label appears twice in the result"));
  CHECK(throws([&] { einsum("ijk...->i", {a}); }, "has no dimension left"));
}

int main() {
  devices();
  shapes();
  joins();
  distinct();
  products();
  mistakes();
  return report("test_composites");
}
