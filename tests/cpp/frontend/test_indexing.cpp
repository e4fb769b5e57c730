// test_indexing.cpp: t.index({...}), t.index_put_({...}, v) and accessors.
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

using namespace undertow;
using namespace undertow::indexing;

static std::vector<int64_t> dims(std::initializer_list<int64_t> list) { return list; }
static Tensor numbers() { return arange(24).view({2, 3, 4}); }

static void test_items_of_an_index() {
  Tensor t = numbers();
  CHECK(t.index({0}).sizes() == dims({3, 4}) && t.index({1, -1, 2}).item<int64_t>() == 22);
  CHECK(t.index({Slice(), 0}).sizes() == dims({2, 4}) && t.index({Slice(1, None)}).sizes() == dims({1, 3, 4}));
  CHECK(t.index({Ellipsis, 0}).sizes() == dims({2, 3}) && t.index({"...", Slice(None, None, 2)}).size(2) == 2);
  CHECK(t.index({None, Ellipsis, None}).sizes() == dims({1, 2, 3, 4, 1}));
  CHECK(t.index({true}).sizes() == dims({1, 2, 3, 4}) && t.index({false}).size(0) == 0);
  CHECK(equal(t.index({Slice(0, 1), Slice(-2, None), Slice(None, -1)}), t.slice(0, 0, 1).slice(1, 1).slice(2, 0, 3)));
}

static void test_tensors_as_indices() {
  Tensor t = numbers(), i = tensor({0, 1, 1}), j = tensor({2, 0, 1});
  CHECK(t.index({i}).sizes() == dims({3, 3, 4}) && t.index({i, j}).sizes() == dims({3, 4}));
  CHECK(t.index({Slice(), j, 0}).sizes() == dims({2, 3}) && t.index({i, Slice(), j}).sizes() == dims({3, 3}));
  CHECK(t.index({t > 20}).sizes() == dims({3}) && t.index({tensor(1)}).sizes() == dims({3, 4}));
  CHECK(t[i].sizes() == dims({3, 3, 4}) && t[t > 20].size(0) == 3);
}

static void test_assignment() {
  Tensor t = zeros({3, 3});
  t.index_put_({0}, 1);
  t.index_put_({Slice(), 2}, tensor({5.0, 6.0, 7.0}));
  CHECK(t.sum().item<float>() == 20 && t[0][2].item<float>() == 5);
  t.index_put_({t > 5}, 0);
  t.index_put_({Ellipsis}, t * 2);
  CHECK(t.sum().item<float>() == 14);
  t.index_put_({tensor({0, 0}), tensor({1, 1})}, tensor({1.0, 1.0}), /*accumulate=*/true);
  CHECK(t[0][1].item<float>() == 4);
  Tensor x = ones({2}, requires_grad()), y = x * 1;
  y.index_put_({0}, 3);
  y.sum().backward();
  CHECK(x.grad()[0].item<float>() == 0 && x.grad()[1].item<float>() == 1);
}

static void test_errors() {
  Tensor t = numbers();
  CHECK(throws([&] { t.index({0, 0, 0, 0}); }, "too many indices for tensor of dimension 3"));
  CHECK(throws([&] { t.index({0, 3}); }, "index 3 is out of bounds for dimension 1 with size 3"));
  CHECK(throws([&] { t.index({Slice(None, None, 0)}); }, "slice step cannot be zero"));
  CHECK(throws([&] { t.index({Slice(None, None, -1)}); }, "step must be greater than zero"));
  CHECK(throws([&] { t.index({".."}); }, "ellipsis"));
  CHECK(throws([&] { ones({}).index({0}); }, "too many indices"));
  CHECK(throws([&] { t.index({Tensor()}); }, "undefined tensor"));
}

static void test_accessors_follow_the_strides() {
  Tensor t = numbers().to(kFloat), u = t.transpose(0, 2);
  auto a = u.accessor<float, 3>();
  float sum = 0;
  for (int64_t i = 0; i < a.size(0); i++)
    for (int64_t j = 0; j < a.size(1); j++)
      for (int64_t k = 0; k < a.size(2); k++) sum += a[i][j][k];
  CHECK(sum == 276 && a[3][2][1] == 23);
  a[0][0][0] = 100;
  CHECK(t[0][0][0].item<float>() == 100);
  CHECK(throws([&] { (void)u.accessor<float, 2>(); }, "TensorAccessor expected 2 dims but tensor has 3"));
  CHECK(throws([&] { (void)u.accessor<double, 3>(); }, "expected scalar type Double but found Float"));
}

static void test_packed_accessors_contain_sizes_and_strides() {
  Tensor u = arange(24, kFloat).view({2, 3, 4}).transpose(0, 2), line = arange(3, kLong);
  auto wide = u.packed_accessor64<float, 3>();
  auto narrow = u.packed_accessor32<float, 3, RestrictPtrTraits>();
  static_assert(std::is_same_v<decltype(narrow.size(0)), int32_t> && std::is_same_v<decltype(wide.size(0)), int64_t>);
  narrow[1][2][0] = -7;
  CHECK((u.index({1, 2, 0}).item<float>() == -7 && wide[1][2][0] == -7 && wide.data() == u.data_ptr<float>()));
  auto exchanged = wide.transpose(0, 1);
  CHECK(exchanged.size(0) == 3 && exchanged.stride(1) == u.stride(0) && exchanged[2][1][0] == -7);
  line.packed_accessor32<int64_t, 1>()[2] = 5;
  CHECK(line[2].item<int64_t>() == 5);
  CHECK(throws([&] { (void)u.packed_accessor32<float, 2>(); }, "packed_accessor expected 2 dims but tensor has 3"));
  Tensor large = zeros({1}, kByte).expand({int64_t(1) << 32});
  CHECK(throws([&] { (void)large.packed_accessor32<uint8_t, 1>(); }, "use packed_accessor64"));
  CHECK((large.packed_accessor64<uint8_t, 1>().size(0) == int64_t(1) << 32));
}

static void test_a_number_in_brackets_is_an_integer() {
  Tensor x = arange(3);
  CHECK(x[Scalar(1)].item<int64_t>() == 1 && x[tensor(2)].item<int64_t>() == 2);
  CHECK(throws([&] { x[Scalar(1.5)]; }, "Can only index tensors with integral scalars"));
  CHECK(throws([&] { x[Scalar(true)]; }, "Can only index tensors with integral scalars"));
}

int main() {
  test_a_number_in_brackets_is_an_integer();
  test_packed_accessors_contain_sizes_and_strides();
  test_items_of_an_index();
  test_tensors_as_indices();
  test_assignment();
  test_errors();
  test_accessors_follow_the_strides();
  return report("test_indexing");
}
