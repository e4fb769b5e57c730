// tensor.h: the handle to a tensor: one reference-counting pointer; null means undefined.
// Layout, storage and flags only; operators are free functions in the generated ops headers.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/tensor/dtype/scalar.h"
#include "core/tensor/mode.h"
#include "core/tensor/tensor_impl.h"

namespace undertow::core {

// Records the source line of a write while lines are recorded. Defined in a higher layer:
// graph/diagnostics/error_details.cpp.
extern void (*note_write)(const Storage* storage);

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  static Tensor adopt(TensorImpl* impl) { return Tensor(Ref<TensorImpl>::adopt(impl)); }

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* leak() { return impl_.leak(); }
  bool is_same(const Tensor& o) const { return impl_.get() == o.impl_.get(); }
  void reset() { impl_.reset(); }

  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  bool is_cpu() const { return impl_->device.is_cpu(); }
  bool is_meta() const { return impl_->device.is_meta(); }
  int64_t dim() const { return impl_->ndim; }
  int64_t numel() const { return impl_->numel; }
  IntSpan sizes() const { return impl_->sizes(); }
  IntSpan strides() const { return impl_->strides(); }
  // d may be negative, but must be in range.
  int64_t size(int64_t d) const { return impl_->sizes_ptr()[d < 0 ? d + impl_->ndim : d]; }
  int64_t stride(int64_t d) const { return impl_->strides_ptr()[d < 0 ? d + impl_->ndim : d]; }
  int64_t storage_offset() const { return impl_->offset; }
  int64_t itemsize() const { return core::itemsize(impl_->dtype); }
  int64_t nbytes() const { return numel() * itemsize(); }
  Storage& storage() const { return *impl_->storage; }
  char* data() const { return impl_->data(); }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(impl_->data());
  }
  bool is_contiguous() const { return impl_->has(kContiguous); }
  bool is_complex() const { return core::is_complex(dtype()); }
  bool is_floating() const { return core::is_floating(dtype()); }
  bool is_conj() const { return impl_->has(kConj); }
  bool is_neg() const { return impl_->has(kNeg); }
  bool is_sparse() const { return impl_->has(kSparse); }  // any layout but strided
  // A view also requires grad if its base does: a write after the view was created may have changed the base.
  bool requires_grad() const {
    return impl_->has(kRequiresGrad) || (impl_->has(kIsView) && impl_->base->has(kRequiresGrad));
  }
  bool is_leaf() const { return !impl_->grad_fn; }
  UT_HOT_INLINE uint32_t version() const { return impl_->version(); }
  void bump_version(const char* by) const {
    if (UT_UNLIKELY(impl_->has(kInference))) return;
    Storage* holder = impl_->version_holder();
    holder->bump_version(by);
    if (UT_UNLIKELY(origins_wanted()) && note_write) note_write(holder);
  }

 private:
  Ref<TensorImpl> impl_;
};
static_assert(sizeof(Tensor) == sizeof(void*));

using TensorSpan = std::span<const Tensor>;

// New uninitialised memory, row-major. Throws for negative sizes and on overflow.
Tensor empty(IntSpan sizes, DType dtype, Device device = kCpu);
Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device = kCpu);
// The same, on the device of t.
inline Tensor empty_on_device_of(const Tensor& t, IntSpan sizes, DType dtype) {
  return empty(sizes, dtype, t.device());
}
inline Tensor empty_strided_on_device_of(const Tensor& t, IntSpan sizes, IntSpan strides, DType dtype) {
  return empty_strided(sizes, strides, dtype, t.device());
}
// The same, with the shape of a contiguous CPU tensor, which needs no checks: the hot path of pointwise operators.
UT_HOT_INLINE Tensor empty_same_shape(const TensorImpl& like, DType dtype) {
  if (UT_UNLIKELY(like.ndim > kInlineDims)) return empty(like.sizes(), dtype);
  auto* impl = new TensorImpl;
  impl->dtype = dtype;
  impl->flags = kContiguous;
  impl->ndim = like.ndim;
  impl->numel = like.numel;
  for (int i = 0; i < like.ndim; i++) {
    impl->sizes_inline[i] = like.sizes_inline[i];
    impl->strides_inline[i] = like.strides_inline[i];
  }
  Tensor t = Tensor::adopt(impl);
  impl->storage = Storage::allocate(static_cast<size_t>(like.numel * itemsize(dtype))).leak();
  return t;
}
// A new tensor on src's storage; the caller sets its sizes and strides.
Tensor alias_storage(const Tensor& src);
// A new tensor on src's storage. Not a view for autograd (base is not set).
Tensor alias(const Tensor& src, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype);
// The same, with src's own sizes and strides: nothing to compute.
inline Tensor alias(const Tensor& src) {
  const TensorImpl& from = *src.impl();
  if (UT_UNLIKELY(from.ndim > kInlineDims))
    return alias(src, src.sizes(), src.strides(), src.storage_offset(), src.dtype());
  auto* impl = new TensorImpl;
  impl->dtype = from.dtype;
  impl->device = from.device;
  impl->flags = from.flags & (kContiguous | kConj | kNeg | kOtherDevice | kSparse | kDispatched);
  impl->ndim = from.ndim;
  impl->numel = from.numel;
  impl->offset = from.offset;
  for (int i = 0; i < from.ndim; i++) {
    impl->sizes_inline[i] = from.sizes_inline[i];
    impl->strides_inline[i] = from.strides_inline[i];
  }
  impl->storage = from.storage;
  impl->storage->retain();
  return Tensor::adopt(impl);
}

}  // namespace undertow::core
