// functions.h: every operator as a free function: generated from ops/*.toml, and the few that are written by hand.
#pragma once
#include <undertow/op_functions.h>
#include <undertow/tensor.h>

namespace undertow {

// A tensor with a copy of these numbers: tensor({1, 2}), tensor({1.5f}, kDouble), tensor({{1, 2}, {3, 4}}). As in
// Python the dtype follows from the numbers: bool, int64, or the default floating point dtype. Complex numbers, Half
// and BFloat16 keep their C++ type.
namespace detail {
struct NestedNumbers {
  template <class T>
    requires(std::is_arithmetic_v<T>)
  NestedNumbers(T value) : number(value) {}
  NestedNumbers(const Scalar& value) : number(value) {}
  template <class T>
  NestedNumbers(std::complex<T> value) : number(value), exact(CppTypeToScalarType<std::complex<T>>::value) {}
  NestedNumbers(Half value) : number(value), exact(kHalf) {}
  NestedNumbers(BFloat16 value) : number(value), exact(kBFloat16) {}
  NestedNumbers(std::initializer_list<NestedNumbers> list) : list(list), is_list(true) {}
  Scalar number;
  std::vector<NestedNumbers> list;
  bool is_list = false;
  optional<ScalarType> exact;  // the dtype of a number whose C++ type decides
};
Tensor tensor_of(const NestedNumbers& numbers, const TensorOptions& options);
Tensor tensor_of(const void* data, size_t count, core::DType dtype, const TensorOptions& options);
}  // namespace detail
inline Tensor tensor(std::initializer_list<detail::NestedNumbers> numbers, const TensorOptions& options = {}) {
  return detail::tensor_of(detail::NestedNumbers(numbers), options);
}
template <class T>
  requires(std::is_constructible_v<detail::NestedNumbers, T> && std::is_trivially_copyable_v<T>)
Tensor tensor(T number, const TensorOptions& options = {}) {
  return detail::tensor_of(detail::NestedNumbers(number), options);
}
// From a vector of int the dtype is int64 and from one of float or double the default dtype, as with braces; from
// others it is that of T.
template <class T>
Tensor tensor(ArrayRef<T> numbers, const TensorOptions& options = {}) {
  return detail::tensor_of(numbers.data(), numbers.size(), CppTypeToScalarType<T>::value, options);
}
template <class T>
Tensor tensor(const std::vector<T>& numbers, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(numbers), options);
}

// A tensor on memory of the caller, which must stay valid as long as the tensor; `deleter` is called when the last
// tensor on it is gone.
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options = {});

// Threads that operators may use.
void set_num_threads(int n);
int get_num_threads();

}  // namespace undertow
