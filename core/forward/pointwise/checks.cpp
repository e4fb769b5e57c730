// checks.cpp: see checks.h.
#include "core/forward/pointwise/checks.h"

#include <string_view>

namespace undertow::core::fwd {

void check_alpha_slow(DType common, const Scalar& alpha) {
  UT_CHECK(!alpha.is_bool() || common == DType::Bool, "Boolean alpha only supported for Boolean results.");
  UT_CHECK(is_floating(common) || is_complex(common) || alpha.is_integral(),
           "For integral input tensors, argument alpha must not be a floating point number. The operands' dtype is ",
           common);
  UT_CHECK(is_complex(common) || !alpha.is_complex(),
           "For non-complex input tensors, argument alpha must not be a complex number. The operands' dtype is ",
           common);
}
void check_sub_slow(DType self, DType other) {
  UT_CHECK(self != DType::Bool || other != DType::Bool,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
           "operator instead.");
  UT_FAIL(
      "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
      "`~` or "
      "`logical_not()` operator instead.");
}

namespace {
// C++ type names as in torch's messages: float, double, c10::complex<double>.
std::string_view type_name(DType t) {
  switch (t) {
    case DType::Float32:
      return "float";
    case DType::Float64:
      return "double";
    case DType::Int64:
      return "long int";
    case DType::Int32:
      return "int";
    case DType::Int16:
      return "short";
    case DType::Int8:
      return "signed char";
    case DType::UInt8:
      return "unsigned char";
    default:
      return name(t);
  }
}
void check_lerp_operand(const char* which, DType expected, DType got) {
  UT_CHECK(expected == got, "expected dtype ", type_name(expected), " for `", which, "` but got dtype ",
           type_name(got));
}
}  // namespace

void check_lerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  check_lerp_operand("end", self.dtype(), end.dtype());
  check_lerp_operand("weight", self.dtype(), weight.dtype());
}
void check_lerp(const Tensor& self, const Tensor& end, const Scalar& weight) {
  check_lerp_operand("end", self.dtype(), end.dtype());
  if (is_integral(self.dtype())) throw_not_implemented("lerp_kernel_scalar", self.dtype());
  UT_CHECK(self.is_complex() || !weight.is_complex(), "value cannot be converted to type ", type_name(self.dtype()),
           " without overflow: the weight ", weight, " is complex");
}
void check_addcdiv(const Tensor&, const Tensor& tensor1, const Tensor& tensor2) {
  UT_CHECK(!is_integral(tensor1.dtype()) || !is_integral(tensor2.dtype()),
           "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true "
           "division of tensor1 and "
           "tensor2. Their dtypes are ",
           tensor1.dtype(), " and ", tensor2.dtype());
}
void check_heaviside(const Tensor& self, const Tensor& values) {
  UT_CHECK(!self.is_complex() && !values.is_complex(), "heaviside is not yet implemented for complex tensors.");
  UT_CHECK(self.dtype() == values.dtype(),
           "heaviside is not yet implemented for tensors with different dtypes. They are ", self.dtype(), " and ",
           values.dtype());
}
void check_order(int64_t n) { UT_CHECK(n >= 0, "polygamma(n, x) does not support negative n. Got n = ", n); }
void check_not_complex(const char* op, const Tensor& self) {
  std::string_view name = op;
  if (!self.is_complex()) return;
  UT_CHECK_AS(NotImplemented, name != "clamp", "clamp is not supported for complex types");
  UT_CHECK(!name.starts_with("is"), op, " does not support complex inputs.");
  UT_FAIL(op, " not implemented for complex tensors.");
}
void check_celu(const Scalar& alpha) { UT_CHECK(!alpha.equals(0), "ZeroDivisionError: alpha cannot be 0 for CELU"); }
void check_hardtanh(const Tensor& self, const Scalar& min, const Scalar& max) {
  UT_CHECK(self.dtype() != DType::Bool, "Bool inputs not supported for hardtanh");
  UT_CHECK(self.dtype() != DType::UInt8 || (min.to_double() >= 0 && max.to_double() >= 0),
           "cannot do hardtanh on an unsigned type with negative limits. They are ", min, " and ", max);
  UT_CHECK_VALUE(min.to_double() <= max.to_double(), "min_val cannot be greater than max_val. They are ", min, " and ",
                 max);
}
void check_softshrink(const Tensor& self, const Scalar& lambd) {
  UT_CHECK(lambd.to_double() >= 0, "lambda must be in range [0, largest] for input dtype ", long_name(self.dtype()),
           ", but found ", lambd);
}

}  // namespace undertow::core::fwd
