// muladd.cpp: an extension with operators in torch's dispatcher: schemas, kernels for the CPU, an output argument, a
// derivative in C++. It is a library without a Python module: torch.ops.load_library finds its operators.
#include <ATen/Operators.h>
#include <torch/all.h>
#include <torch/library.h>

#include <vector>

namespace muladd {

at::Tensor mymuladd_cpu(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes());
  TORCH_CHECK(a.dtype() == at::kFloat && b.dtype() == at::kFloat, "float tensors expected");
  TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CPU);
  at::Tensor a_contig = a.contiguous(), b_contig = b.contiguous();
  at::Tensor result = torch::empty(a_contig.sizes(), a_contig.options());
  const float* a_ptr = a_contig.data_ptr<float>();
  const float* b_ptr = b_contig.data_ptr<float>();
  float* result_ptr = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); i++) result_ptr[i] = a_ptr[i] * b_ptr[i] + static_cast<float>(c);
  return result;
}

// Writes into `out`, which the schema says.
void myadd_out_cpu(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
  TORCH_CHECK(out.is_contiguous() && a.sizes() == out.sizes());
  auto a_contig = a.contiguous(), b_contig = b.contiguous();
  for (const auto i : c10::irange(out.numel()))
    out.data_ptr<float>()[i] = a_contig.data_ptr<float>()[i] + b_contig.data_ptr<float>()[i];
}

// An operator with its derivative in C++: sums of the elements and of the squares.
std::tuple<at::Tensor, at::Tensor> moments_cpu(const at::Tensor& x) { return {x.sum(), (x * x).sum()}; }

class Moments : public torch::autograd::Function<Moments> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x) {
    at::AutoDispatchBelowADInplaceOrView guard;
    ctx->save_for_backward({x});
    static auto op = torch::Dispatcher::singleton()
                         .findSchemaOrThrow("muladd::moments", "")
                         .typed<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&)>();
    auto [sum, squares] = op.call(x);
    return {sum, squares};
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    auto x = ctx->get_saved_variables()[0];
    return {grads[0] + 2 * x * grads[1]};
  }
};
std::tuple<at::Tensor, at::Tensor> moments_autograd(const at::Tensor& x) {
  auto out = Moments::apply(x);
  return {out[0], out[1]};
}

TORCH_LIBRARY(muladd, m) {
  m.def("mymuladd(Tensor a, Tensor b, float c) -> Tensor", {at::Tag::pt2_compliant_tag});
  m.def("myadd_out(Tensor a, Tensor b, Tensor(a!) out) -> ()");
  m.def("moments(Tensor x) -> (Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(muladd, CPU, m) {
  m.impl("mymuladd", &mymuladd_cpu);
  m.impl("myadd_out", &myadd_out_cpu);
  m.impl("moments", &moments_cpu);
}
TORCH_LIBRARY_IMPL(muladd, Autograd, m) { m.impl("moments", &moments_autograd); }

}  // namespace muladd
