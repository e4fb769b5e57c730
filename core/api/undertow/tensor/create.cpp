// create.cpp: tensors from numbers and from the caller's memory: see functions.h.
// build: small
#include <undertow/functions.h>

#include <cstring>

#include "core/autograd/tensor_state.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow {

namespace detail {

namespace {

using Kind = core::Scalar::Kind;

// The widest kind of the numbers of nested lists, and their dtype if the C++ type of all numbers of that kind decides.
struct NumbersKind {
  Kind kind = Kind::Bool;
  optional<core::DType> exact;

  void add(const NestedNumbers& n) {
    const Kind other = n.number.kind();
    optional<core::DType> dtype = n.exact ? optional<core::DType>(*n.exact) : nullopt;
    if (other == Kind::Complex && !dtype) dtype = core::DType::Complex128;
    if (other == kind && exact && dtype)
      exact = core::promote_types(*exact, *dtype);
    else if (other >= kind)
      exact = other == kind ? nullopt : dtype;
    kind = std::max(kind, other);
  }
};
// The shape of nested lists, and the kind of their numbers. Raises for ragged lists.
void measure(const NestedNumbers& n, size_t depth, core::Dims& sizes, bool first, NumbersKind& kind) {
  if (!n.is_list) {
    UT_CHECK_VALUE(depth == sizes.size(), "expected sequence of length ", sizes[depth], " at dim ", depth,
                   " (got a number)");
    kind.add(n);
    return;
  }
  if (first)
    sizes.push_back(static_cast<int64_t>(n.list.size()));
  else
    UT_CHECK_VALUE(depth < sizes.size() && sizes[depth] == static_cast<int64_t>(n.list.size()),
                   "expected sequence of length ", depth < sizes.size() ? sizes[depth] : 0, " at dim ", depth, " (got ",
                   n.list.size(), ")");
  for (size_t i = 0; i < n.list.size(); i++) measure(n.list[i], depth + 1, sizes, first && i == 0, kind);
}

void store(const NestedNumbers& n, core::DType dtype, char*& at) {
  for (const NestedNumbers& x : n.list) store(x, dtype, at);
  if (n.is_list) return;
  UT_CHECK(core::is_complex(dtype) || !n.number.is_complex() || n.number.to_complex().imag() == 0,
           "value cannot be converted to type ", core::name(dtype), " without overflow: it is ", n.number);
  core::dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *reinterpret_cast<T*>(at) = n.number.to<T>();
  });
  at += core::itemsize(dtype);
}

core::DType dtype_of(NumbersKind kind) {
  if (kind.exact) return *kind.exact;
  switch (kind.kind) {
    case Kind::Bool:
      return core::DType::Bool;
    case Kind::Float:
      return core::default_dtype();
    default:
      return core::DType::Int64;
  }
}

Tensor finish(core::Tensor t, core::DType dtype, const TensorOptions& options) {
  optional<core::Device> device = options.device_opt();
  if (dtype != t.dtype() || device) t = core::ops::to(t, device, optional<core::DType>(dtype));
  return made(std::move(t), options);
}

}  // namespace

Tensor tensor_of(const NestedNumbers& numbers, const TensorOptions& options) {
  core::NoGradGuard no_grad;
  core::Dims sizes;
  NumbersKind kind;
  measure(numbers, 0, sizes, true, kind);
  if (core::product(sizes) == 0) kind = {Kind::Float, nullopt};
  core::DType natural = dtype_of(kind), dtype = options.has_dtype() ? core::DType(options.dtype()) : natural;
  // Dtypes without kernels of their own are converted from the widest dtype of the kind.
  core::DType stored = core::is_storage(dtype) ? natural : dtype;
  core::Tensor t = core::empty(sizes, stored);
  char* at = t.data();
  store(numbers, stored, at);
  return finish(std::move(t), dtype, options);
}

Tensor tensor_of(const void* data, size_t count, core::DType dtype, const TensorOptions& options) {
  UT_CHECK(
      !core::is_complex(dtype) || !options.has_dtype() || core::is_complex(options.dtype()),
      "can not do tensor(complex, dtype=non-complex) because complex can not be casted to real number without loss "
      "of information");
  core::NoGradGuard no_grad;
  core::Tensor t = core::empty(core::Dims{static_cast<int64_t>(count)}, dtype);
  if (count) std::memcpy(t.data(), data, static_cast<size_t>(t.nbytes()));
  core::DType natural = dtype;
  if (dtype == core::DType::Int32) natural = core::DType::Int64;
  if (dtype == core::DType::Float32 || dtype == core::DType::Float64) natural = core::default_dtype();
  return finish(std::move(t), options.has_dtype() ? core::DType(options.dtype()) : natural, options);
}

}  // namespace detail

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options) {
  UT_CHECK_VALUE(sizes.size() == strides.size(), "from_blob: mismatch in length of strides and shape: ", strides.size(),
                 " and ", sizes.size());
  UT_CHECK(options.device().is_cpu(), "from_blob: memory of the device ", core::Device(options.device()),
           " is not supported; only the CPU's");
  for (size_t i = 0; i < sizes.size(); i++)
    UT_CHECK(sizes[i] >= 0 && strides[i] >= 0, "from_blob: sizes and strides must not be negative, got ",
             core::ShapeText{sizes}, " and ", core::ShapeText{strides});
  core::DType dtype = options.dtype();
  struct Context {
    void* data;
    std::function<void(void*)> deleter;
  };
  auto free = [](void* p) {
    auto* c = static_cast<Context*>(p);
    if (c->deleter) c->deleter(c->data);
    delete c;
  };
  auto bytes = static_cast<size_t>(core::storage_extent(sizes, strides) * core::itemsize(dtype));
  auto storage = core::Storage::borrow(data, bytes, free, new Context{data, std::move(deleter)});
  auto* impl = new core::TensorImpl;
  core::Tensor t = core::Tensor::adopt(impl);
  impl->dtype = dtype;
  impl->storage = storage.leak();
  impl->set_layout(sizes, strides);
  return detail::made(std::move(t), options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return from_blob(data, sizes, strides, nullptr, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options) {
  return from_blob(data, sizes, core::contiguous_strides(sizes), std::move(deleter), options);
}
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return from_blob(data, sizes, core::contiguous_strides(sizes), nullptr, options);
}

}  // namespace undertow
