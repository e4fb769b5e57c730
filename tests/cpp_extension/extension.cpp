// extension.cpp: functions and operators that the tests of this folder call from Python.
#include <undertow/extension.h>

using namespace undertow;
using autograd::AutogradContext;

namespace {

// Types of arguments and results.
Tensor same(const Tensor& x) { return x; }
Tensor undefined() { return {}; }
std::vector<Tensor> reversed(const std::vector<Tensor>& list) { return {list.rbegin(), list.rend()}; }
Tensor sum_of(TensorList list) {
  Tensor out = zeros({});
  for (const Tensor& t : list) out = out + t.sum();
  return out;
}
bool is_given(const std::optional<Tensor>& t) { return t.has_value(); }
std::string kind(const Scalar& s) {
  return s.isBoolean() ? "bool" : s.isComplex() ? "complex" : s.isFloatingPoint() ? "float" : "int";
}
Scalar scalar(const Scalar& s) { return s; }
ScalarType dtype_back(ScalarType t) { return t; }
Device device_back(const Device& d) { return d; }
Layout layout_back(Layout l) { return l; }
MemoryFormat format_back(MemoryFormat f) { return f; }
Tensor reshaped(const Tensor& x, IntArrayRef sizes) { return x.reshape(sizes); }
std::tuple<Tensor, int64_t> pair(const Tensor& x) { return {x, x.numel()}; }

// Errors.
void raise_kind(const std::string& kind) {
  if (kind == "index") UT_FAIL_AS(Index, "an index");
  if (kind == "type") UT_FAIL_AS(Type, "a type");
  if (kind == "value") UT_FAIL_AS(Value, "a value");
  if (kind == "not implemented") UT_FAIL_AS(NotImplemented, "missing");
  if (kind == "std") throw std::out_of_range("out of range");
  UT_FAIL("a runtime error");
}
Tensor bad_product(const Tensor& x) { return x.matmul(ones({7, 7})); }
void run_backward(const Tensor& x) { x.backward(); }

// Autograd.
struct Square : autograd::Function<Square> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double factor) {
    ctx->save_for_backward({x});
    ctx->saved_data["factor"] = factor;
    return x * x * factor;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {2 * ctx->saved_data["factor"].toDouble() * x * grads[0], Tensor()};
  }
};
Tensor custom_square(const Tensor& x, double factor) { return Square::apply(x, factor); }

// Threads.
Tensor counted(int64_t n) {
  Tensor out = zeros({n}, kLong);
  int64_t* data = out.data_ptr<int64_t>();
  parallel_for(0, n, 10, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) data[i] += i;
  });
  return out;
}
bool holds_lock() { return PyGILState_Check() == 1; }

// Operators.
Tensor scale(const Tensor& x, double a) { return x * a; }
Tensor cube_cpu(const Tensor& x) {
  Tensor in = x.contiguous(), out = empty_like(in);
  const double* from = in.data_ptr<double>();
  double* to = out.data_ptr<double>();
  for (int64_t i = 0; i < in.numel(); i++) to[i] = from[i] * from[i] * from[i];
  return out;
}
Tensor call_cube(const Tensor& x) {
  static auto op =
      library::Dispatcher::singleton().findSchemaOrThrow("uttest::cube", "").typed<Tensor(const Tensor&)>();
  return op.call(x);
}
struct Cube : autograd::Function<Cube> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    library::BelowAutogradGuard below;
    ctx->save_for_backward({x});
    return call_cube(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {3 * x * x * grads[0]};
  }
};
std::tuple<Tensor, std::vector<int64_t>, std::string> several(const Tensor& x, IntArrayRef list, std::string_view text,
                                                              const optional<Tensor>& other, optional<int64_t> number,
                                                              ScalarType dtype,
                                                              const Dict<std::string, Tensor>& named) {
  std::vector<int64_t> out = list.vec();
  out.push_back(other ? 1 : 0);
  out.push_back(number.value_or(-1));
  return {x.to(dtype) + named.at("bias"), out, std::string(text) + "!"};
}

}  // namespace

UNDERTOW_LIBRARY(uttest, m) {
  m.def("scale(Tensor x, float a=1) -> Tensor", &scale);
  m.def("cube(Tensor x) -> Tensor");
  m.def("plain_cube(Tensor x) -> Tensor");
  m.def("only_cpu(Tensor x) -> Tensor");
  m.def(
      "several(Tensor x, int[] list, str text='hi', *, Tensor? other=None, int? number=None, ScalarType dtype=float32, "
      "Dict(str, Tensor) named) -> (Tensor, int[], str)",
      &several);
  m.def("inferred", [](const Tensor& x, int64_t n, optional<double> a) { return x + n + a.value_or(0.5); });
  m.def("add_one_(Tensor(a!) x) -> Tensor(a!)", [](Tensor& x) -> Tensor& { return x.add_(1); });
  m.def("over.ints(Tensor x, int n) -> Tensor", [](const Tensor& x, int64_t n) { return x + n; });
  m.def("over.text(Tensor x, str s) -> Tensor",
        [](const Tensor& x, std::string s) { return x + static_cast<int64_t>(s.size()); });
}
UNDERTOW_LIBRARY_IMPL(uttest, CPU, m) {
  m.impl("cube", &cube_cpu);
  m.impl("plain_cube", &cube_cpu);
  m.impl("only_cpu", &cube_cpu);
}
UNDERTOW_LIBRARY_IMPL(uttest, Meta, m) {
  m.impl("cube", [](const Tensor& x) { return empty_like(x); });
}
UNDERTOW_LIBRARY_IMPL(uttest, Autograd, m) {
  m.impl("cube", [](const Tensor& x) { return Cube::apply(x); });
}

PYBIND11_MODULE(UNDERTOW_EXTENSION_NAME, m) {
  namespace py = pybind11;
  m.def("same", &same);
  m.def("undefined", &undefined);
  m.def("reversed", &reversed);
  m.def("sum_of", &sum_of);
  m.def("is_given", &is_given);
  m.def("kind", &kind);
  m.def("scalar", &scalar);
  m.def("dtype_back", &dtype_back);
  m.def("device_back", &device_back);
  m.def("layout_back", &layout_back);
  m.def("format_back", &format_back);
  m.def("reshaped", &reshaped);
  m.def("pair", &pair);
  m.def("raise_kind", &raise_kind);
  m.def("bad_product", &bad_product);
  m.def("run_backward", &run_backward);
  m.def("run_backward_unlocked", &run_backward, py::call_guard<py::gil_scoped_release>());
  m.def("square", &custom_square, py::arg("x"), py::arg("factor") = 1.0, py::call_guard<py::gil_scoped_release>());
  m.def("counted", &counted);
  m.def("holds_lock", &holds_lock);
  m.def("holds_lock_unlocked", &holds_lock, py::call_guard<py::gil_scoped_release>());
  m.def("call_cube", &call_cube);
}
