// tensor.h: the tensor of the C++ API: every operator as a method, and what belongs to one tensor: its gradient, hooks,
// elements. Adds methods to the core's handle, and no members, so that both have one representation.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <undertow/types/array_ref.h>
#include <undertow/types/generator.h>
#include <undertow/types/options.h>
#include <undertow/version.h>

#include "core/tensor/layout.h"
#include "core/tensor/tensor.h"
#include "generated/ops.h"

namespace undertow {

namespace ops = core::ops;  // what the generated methods and functions call

class Tensor;
using TensorList = ArrayRef<Tensor>;
using variable_list = std::vector<Tensor>;
using Error = core::Error;
namespace autograd {
class Node;
}
namespace indexing {
class TensorIndex;
}
// accessor.h
template <class T>
struct DefaultPtrTraits;
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class TensorAccessor;
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class GenericPackedTensorAccessor;
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, int64_t>;

// What the generated functions need to pass our types to the core and its results back.
namespace detail {
const core::Tensor& or_undefined(const optional<Tensor>& t);
core::TensorSpan span_of(TensorList list);
core::TensorSpan checked_list(TensorList list);  // which must not contain an undefined tensor
variable_list wrap_list(std::vector<core::Tensor>&& list);
inline core::Generator* pointer(const optional<Generator>& g) { return g ? g->get() : nullptr; }
Tensor made(core::Tensor&& t, const TensorOptions& options);  // applies what the core's creation functions do not take
void* checked_data(const core::Tensor& t, core::DType wanted);
template <class I>
concept Dimension = std::is_integral_v<I> && !std::is_same_v<I, bool>;
// The tensor, unless it is undefined.
[[noreturn]] void raise_undefined();
template <class T>
T& checked(T& t) {
  if (!t.defined()) [[unlikely]]
    raise_undefined();
  return t;
}
}  // namespace detail

class Tensor : public core::Tensor {
 public:
  Tensor() = default;
  Tensor(const core::Tensor& t) : core::Tensor(t) {}
  Tensor(core::Tensor&& t) : core::Tensor(std::move(t)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  // x = y makes x refer to y's tensor. x[0] = y and x[0] = 1 write into x, as in Python.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  Tensor& operator=(const Tensor& values) && { return copy_(values); }
  Tensor& operator=(Tensor&& values) && { return copy_(values); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  // Shape, dtype, memory. An undefined tensor, Tensor(), has no elements and does not require grad; everything else
  // that it is asked raises an error.
  int64_t dim() const { return checked().dim(); }
  int64_t numel() const { return defined() ? core::Tensor::numel() : 0; }
  bool requires_grad() const { return defined() && core::Tensor::requires_grad(); }
  IntArrayRef sizes() const { return checked().sizes(); }
  IntArrayRef strides() const { return checked().strides(); }
  int64_t size(int64_t d) const { return sizes()[static_cast<size_t>(core::wrap_dim(d, dim()))]; }
  int64_t stride(int64_t d) const { return strides()[static_cast<size_t>(core::wrap_dim(d, dim()))]; }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sym_sizes() const { return sizes(); }  // a SymInt of torch is an int64_t here
  int64_t sym_size(int64_t d) const { return size(d); }
  int64_t sym_numel() const { return numel(); }
  ScalarType scalar_type() const { return checked().dtype(); }
  ScalarType dtype() const { return checked().dtype(); }
  DeprecatedTypeProperties type() const { return {scalar_type(), device(), layout()}; }
  Device device() const { return checked().device(); }
  DeviceIndex get_device() const { return device().index(); }
  Layout layout() const;
  TensorOptions options() const;
  bool is_cuda() const { return device().is_cuda(); }
  bool is_floating_point() const { return checked().is_floating(); }
  bool is_signed() const { return core::is_differentiable(dtype()) || dtype() >= core::DType::Int8; }
  bool is_contiguous() const { return checked().is_contiguous(); }
  bool is_contiguous(MemoryFormat format) const;
  bool is_non_overlapping_and_dense() const { return core::is_non_overlapping_and_dense(sizes(), strides()); }
  MemoryFormat suggest_memory_format() const;
  int64_t element_size() const { return itemsize(); }
  core::TensorImpl* unsafeGetTensorImpl() const { return impl(); }  // the key of an optimizer's state
  size_t use_count() const { return defined() ? impl()->use_count() : 0; }
  std::string toString() const;  // "CPUFloatType"
  void print() const;            // the same, and the sizes, on standard output

  // Elements. The pointers address the first element; other elements are where strides() says.
  void* data_ptr() const { return data_pointer(); }
  template <class T>
  T* data_ptr() const {
    return static_cast<T*>(detail::checked_data(*this, CppTypeToScalarType<std::remove_const_t<T>>::value));
  }
  template <class T>
  T* data() const {  // the old name
    return data_ptr<T>();
  }
  const void* const_data_ptr() const { return data_pointer(); }
  template <class T>
  const std::remove_const_t<T>* const_data_ptr() const {
    return data_ptr<std::remove_const_t<T>>();
  }
  void* mutable_data_ptr() const { return data_pointer(); }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const&;  // accessor.h
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;  // the memory would be gone
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> generic_packed_accessor() const&;
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const& {
    return generic_packed_accessor<T, N, PtrTraits, int32_t>();
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() && = delete;
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const& {
    return generic_packed_accessor<T, N, PtrTraits, int64_t>();
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() && = delete;
  template <class T>
  T item() const {
    return Scalar(core::ops::item(checked())).to<T>();
  }

  // Conversion. Returns the tensor itself if nothing changes and copy is not set.
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false,
            optional<MemoryFormat> memory_format = nullopt) const;
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false,
            optional<MemoryFormat> memory_format = nullopt) const {
    return core::ops::to(checked(), core::DType(dtype), non_blocking, copy, memory_format);
  }
  Tensor to(const Device& device, ScalarType dtype, bool non_blocking = false, bool copy = false,
            optional<MemoryFormat> memory_format = nullopt) const {
    return core::ops::to(checked(), optional<core::Device>(device), optional<core::DType>(dtype), non_blocking, copy,
                         memory_format);
  }
  Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false,
            optional<MemoryFormat> memory_format = nullopt) const {
    return core::ops::to(checked(), detail::checked(other), non_blocking, copy, memory_format);
  }
  Tensor toType(ScalarType t) const { return to(t); }
  Tensor cuda() const { return to(TensorOptions(kCUDA)); }
  Tensor mT() const { return core::ops::transpose(checked(), -2, -1); }
  Tensor mH() const { return core::ops::adjoint(checked()); }
  bool is_same_size(const Tensor& other) const { return sizes() == other.sizes(); }
  bool is_nonzero() const { return item<bool>(); }

  // Indexing; see indexing.h.
  Tensor operator[](int64_t index) const { return core::ops::select(checked(), 0, index); }
  Tensor operator[](const Tensor& index) const;
  Tensor operator[](const Scalar& index) const {
    UT_CHECK_INDEX(index.isIntegral(), "Can only index tensors with integral scalars");
    return (*this)[index.toLong()];
  }
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value);

  // Autograd.
  Tensor& requires_grad_(bool on = true) const { return set_requires_grad(on); }
  Tensor& set_requires_grad(bool on) const;
  const Tensor& grad() const;  // undefined if there is none
  Tensor& mutable_grad() const;
  std::shared_ptr<autograd::Node> grad_fn() const;  // null for a leaf; see node.h
  bool is_leaf() const;
  uint32_t output_nr() const { return checked().impl()->output_nr; }
  void retain_grad() const;
  bool retains_grad() const { return impl()->has(core::kRetainsGrad); }
  bool is_view() const { return impl()->has(core::kIsView); }
  Tensor _base() const;
  int64_t _version() const { return version(); }
  const std::string& name() const;
  Tensor& detach_() const;
  Tensor data() const { return variable_data(); }
  Tensor alias() const { return core::ops::view_alias(checked()); }  // a view of all of it
  Tensor variable_data() const;  // the same memory, no history, its own version counter
  Tensor tensor_data() const { return core::ops::detach(checked()); }
  void set_data(const Tensor& other) const;
  bool is_inference() const { return impl()->has(core::kInference); }
  // Adds d(this)/d(leaf) to .grad of every leaf, or of `inputs` only. See autograd::backward.
  void backward(const Tensor& gradient = {}, optional<bool> retain_graph = nullopt, bool create_graph = false,
                optional<TensorList> inputs = nullopt) const;
  // Calls hook(grad) when the gradient of this tensor is computed. A hook that returns a tensor replaces the gradient.
  // Returns a number for remove_hook.
  template <class F>
  unsigned register_hook(F&& hook) const {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const Tensor&>>)
      return add_hook(
          [hook = std::forward<F>(hook)](const Tensor& grad) mutable -> Tensor { return hook(grad), Tensor(); });
    else
      return add_hook(std::forward<F>(hook));
  }
  void remove_hook(unsigned pos) const;
  Tensor _fw_grad(uint64_t level) const;
  void _set_fw_grad(const Tensor& tangent, uint64_t level, bool is_inplace_op) const;

  // Arithmetic in place.
  Tensor& operator+=(const Tensor& o) { return add_(o); }
  Tensor& operator+=(const Scalar& o) { return add_(o); }
  Tensor& operator-=(const Tensor& o) { return sub_(o); }
  Tensor& operator-=(const Scalar& o) { return sub_(o); }
  Tensor& operator*=(const Tensor& o) { return mul_(o); }
  Tensor& operator*=(const Scalar& o) { return mul_(o); }
  Tensor& operator/=(const Tensor& o) { return div_(o); }
  Tensor& operator/=(const Scalar& o) { return div_(o); }
  Tensor& operator&=(const Tensor& o) { return bitwise_and_(o); }
  Tensor& operator|=(const Tensor& o) { return bitwise_or_(o); }
  Tensor& operator^=(const Tensor& o) { return bitwise_xor_(o); }
  Tensor operator~() const { return core::ops::bitwise_not(checked()); }
  Tensor operator-() const { return core::ops::neg(checked()); }
  Tensor operator!() const { return core::ops::logical_not(checked()); }

  // Every operator of ops/*.toml, generated by tools/opgen.
#include <undertow/op_methods.inc>

  // x.var(0) is over dimension 0: another overload would take the 0 for `unbiased`.
#define UT_OVER_DIMENSION(name)                                  \
  template <detail::Dimension I>                                 \
  Tensor name(I dim) const {                                     \
    return name(OptionalIntArrayRef(static_cast<int64_t>(dim))); \
  }
  UT_OVER_DIMENSION(var)
  UT_OVER_DIMENSION(std)
#undef UT_OVER_DIMENSION

 private:
  const core::Tensor& checked() const { return detail::checked(static_cast<const core::Tensor&>(*this)); }
  char* data_pointer() const { return checked().data(); }
  unsigned add_hook(std::function<Tensor(const Tensor&)> hook) const;
};
static_assert(sizeof(Tensor) == sizeof(core::Tensor));

namespace detail {
inline const core::Tensor& or_undefined(const optional<Tensor>& t) {
  static const core::Tensor undefined;
  return t ? *t : undefined;
}
// A Tensor is a core::Tensor without further members, so that an array of them is an array of both.
inline core::TensorSpan span_of(TensorList list) {
  return {reinterpret_cast<const core::Tensor*>(list.data()), list.size()};
}
inline core::TensorSpan checked_list(TensorList list) {
  for (const Tensor& t : list) checked(t);
  return span_of(list);
}
inline variable_list wrap_list(std::vector<core::Tensor>&& list) {
  return {std::make_move_iterator(list.begin()), std::make_move_iterator(list.end())};
}
}  // namespace detail

#define UT_TENSOR_OPERATOR(op, method)                                                \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return a.method(b); } \
  inline Tensor operator op(const Tensor& a, const Scalar& b) { return a.method(b); }
UT_TENSOR_OPERATOR(+, add)
UT_TENSOR_OPERATOR(-, sub)
UT_TENSOR_OPERATOR(*, mul)
UT_TENSOR_OPERATOR(/, div)
UT_TENSOR_OPERATOR(%, remainder)
UT_TENSOR_OPERATOR(&, bitwise_and)
UT_TENSOR_OPERATOR(|, bitwise_or)
UT_TENSOR_OPERATOR(^, bitwise_xor)
UT_TENSOR_OPERATOR(==, eq)
UT_TENSOR_OPERATOR(!=, ne)
UT_TENSOR_OPERATOR(<, lt)
UT_TENSOR_OPERATOR(<=, le)
UT_TENSOR_OPERATOR(>, gt)
UT_TENSOR_OPERATOR(>=, ge)
#undef UT_TENSOR_OPERATOR
inline Tensor operator+(const Scalar& a, const Tensor& b) { return core::ops::add(detail::checked(b), a); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return core::ops::rsub(detail::checked(b), a); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return core::ops::mul(detail::checked(b), a); }
inline Tensor operator/(const Scalar& a, const Tensor& b) {
  return core::ops::mul(core::ops::reciprocal(detail::checked(b)), a);
}
inline Tensor operator%(const Scalar& a, const Tensor& b) { return core::ops::remainder(a, detail::checked(b)); }
inline Tensor operator&(const Scalar& a, const Tensor& b) { return core::ops::bitwise_and(detail::checked(b), a); }
inline Tensor operator|(const Scalar& a, const Tensor& b) { return core::ops::bitwise_or(detail::checked(b), a); }
inline Tensor operator^(const Scalar& a, const Tensor& b) { return core::ops::bitwise_xor(detail::checked(b), a); }
inline Tensor operator==(const Scalar& a, const Tensor& b) { return core::ops::eq(detail::checked(b), a); }
inline Tensor operator!=(const Scalar& a, const Tensor& b) { return core::ops::ne(detail::checked(b), a); }
inline Tensor operator<(const Scalar& a, const Tensor& b) { return core::ops::gt(detail::checked(b), a); }
inline Tensor operator<=(const Scalar& a, const Tensor& b) { return core::ops::ge(detail::checked(b), a); }
inline Tensor operator>(const Scalar& a, const Tensor& b) { return core::ops::lt(detail::checked(b), a); }
inline Tensor operator>=(const Scalar& a, const Tensor& b) { return core::ops::le(detail::checked(b), a); }

}  // namespace undertow
