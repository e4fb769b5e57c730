// test_autograd_api.cpp: autograd::backward and autograd::grad from C++ with real operators: the same checks and
// messages
// as in Python.
#include "core/autograd/autograd.h"

#include "core/graph/autograd_meta.h"
#include "core/graph/forward_level.h"
#include "core/graph/saved_tensor.h"
#include "core/tensor/sparse.h"
#include "generated/ops.h"
#include "tests/cpp/check.h"
#include "tests/cpp/toy_nodes.h"

using namespace toy;

static void test_backward_fills_grad() {
  Tensor x = leaf(3), y = leaf(4);
  Tensor loss = ops::sum(x * y + x);
  autograd::backward({loss});
  CHECK(first(grad_of(x)) == 5 && first(grad_of(y)) == 3);
}

static void test_grad_returns_and_leaves_grad_alone() {
  Tensor x = leaf(3);
  auto got = autograd::grad({ops::sum(x * x * x)}, {x}, {}, std::nullopt, true);
  CHECK(first(got[0]) == 27 && got[0].requires_grad() && !grad_of(x).defined());
  auto second = autograd::grad({ops::sum(got[0])}, {x});
  CHECK(first(second[0]) == 18);
}

static void test_messages() {
  Tensor x = leaf(3), plain = vec(1);
  CHECK(throws([&] { autograd::backward({plain}); },
               "element 0 of tensors does not require grad and does not have a grad_fn"));
  CHECK(throws([&] { autograd::backward({x * x}); }, "grad can be implicitly created only for scalar outputs"));
  CHECK(throws([&] { autograd::grad({ops::sum(x)}, {plain}); },
               "One of the differentiated Tensors does not require grad"));
  Tensor unused = leaf();
  CHECK(throws([&] { autograd::grad({ops::sum(x)}, {unused}); },
               "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True"));
  CHECK(!autograd::grad({ops::sum(x)}, {unused}, {}, std::nullopt, false, true)[0].defined());
  CHECK(throws([&] { autograd::grad({ops::sum(x)}, {}); }, "grad requires non-empty inputs."));
  CHECK(throws([&] { autograd::backward({x * x}, {vec(1, 3)}); }, "Mismatch in shape: grad_output[0] has a shape of"));
  Tensor loss = ops::sum(x * x);
  autograd::backward({loss});
  CHECK(throws([&] { autograd::backward({loss}); }, "Trying to backward through the graph a second time"));
}

static void test_a_write_after_saving_is_noticed() {
  Tensor x = leaf(3);
  Tensor y = x * 1.0, z = y * y;
  ops::add_(y, Scalar(1), Scalar(1));
  CHECK(throws([&] { autograd::backward({ops::sum(z)}); }, "modified by an inplace operation"));
}

static void test_inputs_choose_what_accumulates() {
  Tensor x = leaf(3), y = leaf(4);
  autograd::backward({ops::sum(x * y)}, {}, std::nullopt, false, {y});
  CHECK(!grad_of(x).defined() && first(grad_of(y)) == 3);
}

static void test_a_saved_output_shares_the_tangent_of_its_own_number_only() {
  int64_t level = forward_level::enter();
  for (uint32_t number : {0u, 44u, 300u}) {  // 300 and 44 agree in eight bits
    Tensor result = vec(1), other = vec(2);
    result.impl()->output_nr = number;
    other.impl()->output_nr = number == 300 ? 44 : 300;
    forward_level::set_tangent(result, vec(5));
    forward_level::set_tangent(other, vec(6));
    SavedTensor saved;
    saved.save_output(result);
    saved.share_tangent(other);
    CHECK(!saved.peek()->has(kHasTangent));
    saved.share_tangent(result);
    CHECK(saved.peek()->has(kHasTangent) && first(saved.peek()->meta->tangent) == 5);
  }
  forward_level::leave(level);
}

static void test_sparse_and_dense_gradients_add_up() {
  Tensor index = ops::to_dtype(ops::stack(std::vector<Tensor>{vec(1, 1), vec(0, 1)}, 0), DType::Int64);
  auto looked_up = [&](const Tensor& w, bool sparse) {
    return ops::sum(ops::embedding(w, ops::reshape(index, Dims{2}), -1, false, sparse));
  };
  for (bool dense_first : {false, true}) {
    Tensor w = ops::clone(ops::detach(ops::reshape(vec(1, 6), Dims{3, 2})), std::nullopt);
    w.impl()->set(kRequiresGrad);
    autograd::backward({looked_up(w, !dense_first)});
    CHECK(grad_of(w).is_sparse() != dense_first);
    if (!dense_first) {
      autograd::backward({looked_up(w, true) + looked_up(w, true)});
      CHECK(grad_of(w).is_sparse() && sparse_parts(grad_of(w)).values.size(0) == 6);
    }
    autograd::backward({looked_up(w, dense_first) + looked_up(w, true)});
    CHECK(!grad_of(w).is_sparse());
    Tensor total = ops::sum(grad_of(w));
    CHECK(first(total) == (dense_first ? 12 : 20));
  }
}

int main() {
  test_backward_fills_grad();
  test_grad_returns_and_leaves_grad_alone();
  test_messages();
  test_a_write_after_saving_is_noticed();
  test_inputs_choose_what_accumulates();
  test_a_saved_output_shares_the_tangent_of_its_own_number_only();
  test_sparse_and_dense_gradients_add_up();
  return report("test_autograd_api");
}
