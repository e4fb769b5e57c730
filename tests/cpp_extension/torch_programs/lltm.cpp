// lltm.cpp: an extension in the style of PyTorch's tutorial: a recurrent cell with its derivative, kernels by dtype,
// and operators registered in both ways.
#include <torch/extension.h>
#include <torch/library.h>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <c10/util/irange.h>
#include <vector>

#define CHECK_CPU(x) TORCH_CHECK(x.device().is_cpu(), #x " must be a CPU tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")

torch::Tensor d_sigmoid(torch::Tensor z) {
  auto s = torch::sigmoid(z);
  return (1 - s) * s;
}
torch::Tensor d_tanh(torch::Tensor z) { return 1 - z.tanh().pow(2); }
torch::Tensor d_elu(torch::Tensor z, torch::Scalar alpha = 1.0) {
  auto e = z.exp();
  auto mask = (alpha * (e - 1)) < 0;
  return (z > 0).type_as(z) + mask.type_as(z) * (alpha * e);
}

std::vector<at::Tensor> lltm_forward(torch::Tensor input, torch::Tensor weights, torch::Tensor bias,
                                     torch::Tensor old_h, torch::Tensor old_cell) {
  CHECK_CPU(input);
  CHECK_CONTIGUOUS(input);
  auto X = torch::cat({old_h, input}, /*dim=*/1);
  auto gate_weights = torch::addmm(bias, X, weights.transpose(0, 1));
  auto gates = gate_weights.chunk(3, /*dim=*/1);
  auto input_gate = torch::sigmoid(gates[0]);
  auto output_gate = torch::sigmoid(gates[1]);
  auto candidate_cell = torch::elu(gates[2], /*alpha=*/1.0);
  auto new_cell = old_cell + candidate_cell * input_gate;
  auto new_h = torch::tanh(new_cell) * output_gate;
  return {new_h, new_cell, input_gate, output_gate, candidate_cell, X, gate_weights};
}

std::vector<torch::Tensor> lltm_backward(torch::Tensor grad_h, torch::Tensor grad_cell, torch::Tensor new_cell,
                                         torch::Tensor input_gate, torch::Tensor output_gate,
                                         torch::Tensor candidate_cell, torch::Tensor X, torch::Tensor gate_weights,
                                         torch::Tensor weights) {
  auto d_output_gate = torch::tanh(new_cell) * grad_h;
  auto d_tanh_new_cell = output_gate * grad_h;
  auto d_new_cell = d_tanh(new_cell) * d_tanh_new_cell + grad_cell;
  auto d_old_cell = d_new_cell;
  auto d_candidate_cell = input_gate * d_new_cell;
  auto d_input_gate = candidate_cell * d_new_cell;
  auto gates = gate_weights.chunk(3, /*dim=*/1);
  d_input_gate *= d_sigmoid(gates[0]);
  d_output_gate *= d_sigmoid(gates[1]);
  d_candidate_cell *= d_elu(gates[2]);
  auto d_gates = torch::cat({d_input_gate, d_output_gate, d_candidate_cell}, /*dim=*/1);
  auto d_weights = d_gates.t().mm(X);
  auto d_bias = d_gates.sum(/*dim=*/0, /*keepdim=*/true);
  auto d_X = d_gates.mm(weights);
  const auto state_size = grad_h.size(1);
  auto d_old_h = d_X.slice(/*dim=*/1, 0, state_size);
  auto d_input = d_X.slice(/*dim=*/1, state_size);
  return {d_old_h, d_input, d_weights, d_bias, d_old_cell};
}

template <typename scalar_t>
void muladd_kernel(const scalar_t* a, const scalar_t* b, scalar_t c, scalar_t* out, int64_t n) {
  at::parallel_for(0, n, at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    for (const auto i : c10::irange(begin, end)) out[i] = a[i] * b[i] + c;
  });
}
at::Tensor mymuladd_cpu(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes(), "a and b differ in shape: ", a.sizes(), " and ", b.sizes());
  TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CPU);
  at::Tensor a_contig = a.contiguous(), b_contig = b.contiguous();
  at::Tensor result = torch::empty(a_contig.sizes(), a_contig.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, a.scalar_type(), "mymuladd", [&] {
    muladd_kernel<scalar_t>(a_contig.data_ptr<scalar_t>(), b_contig.data_ptr<scalar_t>(), static_cast<scalar_t>(c),
                            result.data_ptr<scalar_t>(), result.numel());
  });
  return result;
}
at::Tensor mymul_cpu(const at::Tensor& a, const at::Tensor& b) { return mymuladd_cpu(a, b, 0.0); }

class MyAdd : public torch::autograd::Function<MyAdd> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor a, torch::Tensor b) {
    at::AutoDispatchBelowADInplaceOrView guard;
    static auto op = torch::Dispatcher::singleton()
                         .findSchemaOrThrow("tutorial::myadd", "")
                         .typed<torch::Tensor(const torch::Tensor&, const torch::Tensor&)>();
    (void)ctx;
    return op.call(a, b);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*, torch::autograd::tensor_list grads) {
    return {grads[0], grads[0]};
  }
};

TORCH_LIBRARY(tutorial, m) {
  m.def("mymuladd(Tensor a, Tensor b, float c) -> Tensor");
  m.def("mymul(Tensor a, Tensor b) -> Tensor");
  m.def("myadd(Tensor self, Tensor other) -> Tensor");
}
TORCH_LIBRARY_IMPL(tutorial, CPU, m) {
  m.impl("mymuladd", &mymuladd_cpu);
  m.impl("mymul", TORCH_FN(mymul_cpu));
  m.impl("myadd", [](const torch::Tensor& a, const torch::Tensor& b) { return a + b; });
}
TORCH_LIBRARY_IMPL(tutorial, Autograd, m) {
  m.impl("myadd", [](const torch::Tensor& a, const torch::Tensor& b) { return MyAdd::apply(a, b); });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &lltm_forward, "LLTM forward");
  m.def("backward", &lltm_backward, "LLTM backward");
  m.def("forward_no_gil", torch::wrap_pybind_function_no_gil(lltm_forward));
}
