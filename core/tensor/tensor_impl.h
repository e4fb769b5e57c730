// tensor_impl.h: the data members of a tensor. Everything that an operation reads on its hot path is inline here.
// Knows storage and layout. Of the graph, knows only that a tensor may own a node and some autograd metadata.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/object_pool.h"
#include "core/base/ref.h"
#include "core/base/small_vector.h"
#include "core/tensor/dtype/dtype.h"
#include "core/tensor/storage/storage.h"

namespace undertow::core {

class Node;           // graph/node.h
struct AutogradMeta;  // graph/autograd_meta.h
struct TensorImpl;

// Declared here, defined in higher layers: graph/node.cpp, graph/autograd_meta.cpp and python/tensor/tensor_object.cpp.
void release_node(Node* node);
void destroy_autograd_meta(AutogradMeta* meta);
extern void (*release_python_object)(TensorImpl* impl);  // null without Python

enum TensorFlag : uint32_t {
  kRequiresGrad = 1u << 0,  // a leaf that requires grad, or any tensor with a grad_fn
  kContiguous = 1u << 1,    // row-major without gaps; updated by every layout change
  kIsView = 1u << 2,        // base is set: writes to this tensor are writes to base
  kConj = 1u << 3,          // elements are the conjugates of the values in memory
  kNeg = 1u << 4,           // elements are the negatives of the values in memory
  kInference = 1u << 5,     // created in inference mode: no version counter, no autograd
  kHasTangent = 1u << 6,    // has a forward-mode tangent in meta
  kOwnVersion = 1u << 7,    // the version counter is in meta, not in the storage (created by .data or set_data)
  kPyOwned = 1u << 8,       // this impl owns its Python object, not the other way round
  kIsParameter = 1u << 9,   // nn.Parameter
  kPySubclass = 1u << 10,   // the Python object is an instance of a subclass
  kRetainsGrad = 1u << 11,
  kWrappedNumber = 1u << 12,  // created from a Python number: weak in promotion
  kBatched = 1u << 13,        // one sample that represents all samples of a vmap; see Note [Batched Tensors]
  kDependent = 1u << 14,    // computed in a custom Function's forward from an input that requires grad; see kInFunction
  kOtherDevice = 1u << 15,  // not on the CPU: recorders check that all operands share it, and skip fast paths
  // How a view was created, for the errors of in-place writes. See Note [Views And In-place].
  kViewNoGrad = 1u << 16,       // created in no_grad from a tensor of grad mode
  kViewMultiOutput = 1u << 17,  // one of several outputs of one view function
  kViewInference = 1u << 18,    // created in inference mode
  kViewCustom = 1u << 19,       // returned by a custom Function
  kDispatched = 1u << 20,       // its class has a __torch_dispatch__; see Note [Dispatched Tensors]
  // Bits 21 to 30: the non-differentiable operation that computed this from a tensor that requires grad. See
  // Note [Cut Marks].
  kSparse = 1u << 31,  // indices and values instead of elements in memory; see Note [Sparse Tensors]
};
inline constexpr int kCutShift = 21;
inline constexpr uint32_t kMaxCutMarks = 1023;
// Flags of an input that make a recorder pass the whole call to delegated::handler.
inline constexpr uint32_t kDelegated = kBatched | kSparse;
// Flags of an input that make a recorder take its slow path.
inline constexpr uint32_t kFlagSlow = kConj | kNeg | kInference | kHasTangent | kDelegated | kOtherDevice | kDispatched;

inline constexpr int kInlineDims = 4;

struct TensorImpl : Pooled<TensorImpl> {
  std::atomic<uint32_t> refs{1};  // atomic: the engine's workers and Python threads release tensors concurrently
  uint32_t flags = 0;
  DType dtype = DType::Float32;
  uint8_t ndim = 0;
  Device device;               // changes only together with kOtherDevice, in set_device
  uint32_t output_nr = 0;      // the index of this tensor among the outputs of grad_fn
  uint32_t attr_version = 0;   // for views: the base's version when grad_fn was computed
  Storage* storage = nullptr;  // owned
  int64_t numel = 1;
  int64_t offset = 0;  // in elements
  union {
    struct {
      int64_t sizes_inline[kInlineDims];
      int64_t strides_inline[kInlineDims];
    };
    int64_t* dims_heap;  // ndim > kInlineDims: sizes, then strides
  };
  Node* grad_fn = nullptr;       // owned
  AutogradMeta* meta = nullptr;  // owned; null until something needs it
  TensorImpl* base = nullptr;    // owned; set iff kIsView
  void* pyobj = nullptr;         // the Python object, if one exists; owned iff kPyOwned

  TensorImpl() {}
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;

  // dtype, number of dimensions and device in one word, so that one comparison tells whether two tensors agree in all
  // three.
  UT_HOT_INLINE uint32_t kind() const {
    uint32_t word;
    static_assert(offsetof(TensorImpl, device) == offsetof(TensorImpl, dtype) + 2 && sizeof(Device) == 2);
    std::memcpy(&word, &dtype, sizeof word);
    return word;
  }
  bool has(uint32_t flag) const { return flags & flag; }
  void set(uint32_t flag, bool on = true) { flags = on ? flags | flag : flags & ~flag; }

  int64_t* sizes_ptr() { return ndim <= kInlineDims ? sizes_inline : dims_heap; }
  int64_t* strides_ptr() { return ndim <= kInlineDims ? strides_inline : dims_heap + ndim; }
  const int64_t* sizes_ptr() const { return ndim <= kInlineDims ? sizes_inline : dims_heap; }
  const int64_t* strides_ptr() const { return ndim <= kInlineDims ? strides_inline : dims_heap + ndim; }
  IntSpan sizes() const { return {sizes_ptr(), ndim}; }
  IntSpan strides() const { return {strides_ptr(), ndim}; }
  char* data() const { return storage->data() + offset * itemsize(dtype); }

  void set_device(Device d) {
    device = d;
    set(kOtherDevice, !d.is_cpu());
  }
  // Set the sizes, with row-major or given strides. Both update numel and kContiguous.
  void set_sizes(IntSpan sizes);
  void set_layout(IntSpan sizes, IntSpan strides);

  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release() { release_inline(); }
  UT_HOT_INLINE void release_inline() {
    if (refs.load(std::memory_order_acquire) == 1 || refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  uint32_t use_count() const { return refs.load(std::memory_order_acquire); }

  UT_HOT_INLINE Storage* version_holder() const {
    return UT_LIKELY(!has(kOwnVersion)) ? storage : own_version_holder();
  }
  UT_HOT_INLINE uint32_t version() const { return version_holder()->version(); }

 private:
  void destroy();
  Storage* own_version_holder() const;  // graph/autograd_meta.cpp
  void allocate_dims(size_t n);
};

}  // namespace undertow::core
