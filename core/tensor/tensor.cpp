// tensor.cpp: creating and destroying tensors.
//
// Note [Iterative Destruction]
// A tensor owns its node, a node owns its edges and saved tensors, and so on. Freeing the end of a long chain of
// operations by nested destructors overflows the stack at a length of about 320,000. So the first destroy() on a thread
// runs a loop, and every tensor or node that is destroyed meanwhile is put on a thread-local list that this loop
// empties.
// The list is shared with nodes (see release_node in graph/node.cpp).
#include "core/tensor/tensor.h"

#include <cstring>

#include "core/tensor/layout.h"
#include "core/tensor/mode.h"
#include "core/tensor/storage/storage_size.h"

namespace undertow::core {

constinit thread_local ThreadMode thread_mode __attribute__((tls_model("initial-exec")));
std::atomic<uint32_t> process_mode{kAnomalyNan};
void (*release_python_object)(TensorImpl*) = nullptr;
void (*note_write)(const Storage*) = nullptr;

void TensorImpl::allocate_dims(size_t n) {
  if (ndim > kInlineDims && n != ndim) pool_free(dims_heap, 2 * ndim * sizeof(int64_t));
  if (n > kInlineDims && n != ndim) dims_heap = static_cast<int64_t*>(pool_alloc(2 * n * sizeof(int64_t)));
  ndim = static_cast<uint8_t>(n);
}

namespace {
// Writes sizes and row-major strides, and gives the number of elements, which must fit. Only strides beside a size of 0
// can be too large: the caller checks them (contiguous_strides) if the result is 0.
UT_HOT_INLINE int64_t write_row_major(IntSpan sizes, int64_t* s, int64_t* t) {
  uint64_t n = 1, stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    s[i] = sizes[i];
    t[i] = static_cast<int64_t>(stride);
    n *= static_cast<uint64_t>(sizes[i]);
    stride *= sizes[i] > 1 ? static_cast<uint64_t>(sizes[i]) : 1;
  }
  return static_cast<int64_t>(n);
}

// Apart from empty(), whose own frame stays small without the code of its messages.
[[gnu::cold, gnu::noinline]] void check_odd_sizes(IntSpan sizes) {
  bool empty = false;
  for (int64_t s : sizes) {
    UT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", ShapeText{sizes});
    empty |= s == 0;
  }
  UT_CHECK(empty, "Storage size calculation overflowed with sizes=", ShapeText{sizes});
  checked_numel(sizes);
  contiguous_strides(sizes);
}
}  // namespace

void TensorImpl::set_sizes(IntSpan sizes) {
  UT_CHECK(sizes.size() <= 64, "tensors have at most 64 dimensions, got ", sizes.size());
  if (UT_UNLIKELY(checked_numel(sizes) == 0)) check_odd_sizes(sizes);
  allocate_dims(sizes.size());
  numel = write_row_major(sizes, sizes_ptr(), strides_ptr());
  flags |= kContiguous;
}

void TensorImpl::set_layout(IntSpan sizes, IntSpan strides) {
  UT_CHECK(sizes.size() <= 64, "tensors have at most 64 dimensions, got ", sizes.size());
  allocate_dims(sizes.size());
  int64_t *s = sizes_ptr(), *t = strides_ptr();
  int64_t n = 1;  // elements so far, which is the row-major stride of the next dimension
  bool overflow = false;
  bool dense = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    s[i] = sizes[i];
    t[i] = strides[i];
    dense &= sizes[i] == 1 || strides[i] == n;
    overflow |= __builtin_mul_overflow(n, sizes[i], &n);
  }
  numel = UT_UNLIKELY(overflow) ? checked_numel(sizes) : n;
  set(kContiguous, dense || numel == 0);
}

void TensorImpl::destroy() {
  if (UT_UNLIKELY(pyobj != nullptr) && has(kPyOwned)) return release_python_object(this);
  if (meta) destroy_autograd_meta(meta);
  if (grad_fn) release_node(grad_fn);
  if (base) base->release();
  if (storage) storage->release();
  if (ndim > kInlineDims) pool_free(dims_heap, 2 * ndim * sizeof(int64_t));
  delete this;
}

Tensor empty(IntSpan sizes, DType dtype, Device device) {
  int64_t bytes = core::itemsize(dtype);
  bool odd = false;  // a size is negative, a product does not fit, or there are no elements
  for (int64_t s : sizes) odd |= s < 0 || __builtin_mul_overflow(bytes, s, &bytes);
  if (UT_UNLIKELY(odd || bytes == 0)) check_odd_sizes(sizes);
  auto* impl = new TensorImpl;
  Tensor t = Tensor::adopt(impl);
  impl->dtype = dtype;
  impl->set(kContiguous);
  if (UT_LIKELY(sizes.size() <= kInlineDims)) {
    impl->ndim = static_cast<uint8_t>(sizes.size());
    impl->numel = write_row_major(sizes, impl->sizes_inline, impl->strides_inline);
  } else {
    impl->set_sizes(sizes);
  }
  impl->storage = Storage::allocate(static_cast<size_t>(impl->numel * core::itemsize(dtype)), device).leak();
  impl->set_device(impl->storage->device());  // with its number
  return t;
}

Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
  auto* impl = new TensorImpl;
  Tensor t = Tensor::adopt(impl);
  impl->dtype = dtype;
  for (int64_t s : sizes)
    UT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", ShapeText{sizes});
  const size_t bytes = storage_bytes(sizes, strides, 0, core::itemsize(dtype));
  impl->set_layout(sizes, strides);
  impl->storage = Storage::allocate(bytes, device).leak();
  impl->set_device(impl->storage->device());  // with its number
  return t;
}

Tensor alias_storage(const Tensor& src) {
  const TensorImpl* from = src.impl();
  // A batched tensor's memory holds only its first sample; the caller would take that for the whole tensor.
  UT_CHECK(UT_LIKELY(!from->has(kBatched)),
           "Cannot access data pointer of Tensor that doesn't have storage: a tensor under vmap represents one of "
           "many samples");
  auto* impl = new TensorImpl;
  impl->dtype = from->dtype;
  impl->device = from->device;
  impl->flags = from->flags & (kConj | kNeg | kOtherDevice | kSparse | kDispatched);
  impl->offset = from->offset;
  impl->storage = from->storage;
  impl->storage->retain();
  return Tensor::adopt(impl);
}

Tensor alias(const Tensor& src, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype) {
  Tensor t = alias_storage(src);
  t.impl()->dtype = dtype;
  t.impl()->offset = offset;
  t.impl()->set_layout(sizes, strides);
  return t;
}

}  // namespace undertow::core
