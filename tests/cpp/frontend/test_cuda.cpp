// test_cuda.cpp: cuda.h: devices, seeds and waiting. Without a GPU there are no devices, and asking for them does not
// raise. tests/cuda/test_cpp_api.py runs this program on the emulated driver.
#include <undertow/cuda.h>
#include <undertow/library.h>
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

using namespace undertow;

UNDERTOW_LIBRARY(cuda_test, m) { m.def("kind(Tensor x) -> int"); }
UNDERTOW_LIBRARY_IMPL(cuda_test, CPU, m) {
  m.impl("kind", [](const Tensor&) -> int64_t { return 1; });
}
UNDERTOW_LIBRARY_IMPL(cuda_test, CUDA, m) {
  m.impl("kind", [](const Tensor&) -> int64_t { return 2; });
}

static void test_without_a_gpu_there_are_no_devices() {
  CHECK(cuda::device_count() == 0 && !cuda::cudnn_is_available());
  cuda::manual_seed(1);
  cuda::manual_seed_all(1);
  CHECK(throws([] { cuda::synchronize(); }, "there is no GPU"));
}

static bool equal_to(const Tensor& t, const Tensor& other) { return t.to(kCPU).equal(other.to(kCPU)); }

static void test_a_seed_gives_the_same_numbers_on_the_gpu() {
  CHECK(cuda::device_count() > 0 && cuda::cudnn_is_available());
  manual_seed(3);
  Tensor first = rand({8}, kCUDA);
  CHECK(first.is_cuda() && !equal_to(first, rand({8}, kCUDA)));
  manual_seed(3);
  CHECK(equal_to(first, rand({8}, kCUDA)));
  cuda::manual_seed(3);
  CHECK(equal_to(first, rand({8}, kCUDA)));
  cuda::manual_seed_all(3);
  CHECK(equal_to(first, rand({8}, kCUDA)));
}

static void test_work_of_the_gpu_is_done_after_synchronize() {
  Tensor x = ones({4}, dtype(kFloat).device(kCUDA).requires_grad(true));
  (x * 3).sum().backward();
  cuda::synchronize();
  cuda::synchronize(0);
  CHECK(equal_to(x.grad(), full({4}, 3.0)));
}

static void test_an_operator_runs_its_kernel_for_the_gpu() {
  auto kind = library::Dispatcher::singleton().findSchemaOrThrow("cuda_test::kind", "").typed<int64_t(const Tensor&)>();
  CHECK(kind.call(ones({1})) == 1 && kind.call(ones({1}, kCUDA)) == 2);
}

int main() {
  if (!cuda::is_available()) {
    test_without_a_gpu_there_are_no_devices();
    return report("cuda, without a GPU");
  }
  test_a_seed_gives_the_same_numbers_on_the_gpu();
  test_work_of_the_gpu_is_done_after_synchronize();
  test_an_operator_runs_its_kernel_for_the_gpu();
  return report("cuda, with a GPU");
}
