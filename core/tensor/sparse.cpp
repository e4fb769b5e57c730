// sparse.cpp: see sparse.h.
#include "core/tensor/sparse.h"

namespace undertow::core {

const char* name(Layout layout) {
  static const char* const names[kNumLayouts] = {"strided",    "sparse_coo", "sparse_csr",
                                                 "sparse_csc", "sparse_bsr", "sparse_bsc"};
  return names[static_cast<int>(layout)];
}

Tensor make_sparse(SparseParts parts, IntSpan sizes) {
  auto* impl = new TensorImpl;
  Tensor t = Tensor::adopt(impl);
  impl->dtype = parts.values.dtype();
  impl->set_device(parts.values.device());
  impl->set_sizes(sizes);
  impl->flags |= kSparse;
  parts.note_few();
  auto* owned = new SparseParts(std::move(parts));
  impl->storage = Storage::borrow(nullptr, 0, [](void* p) { delete static_cast<SparseParts*>(p); }, owned).leak();
  return t;
}

SparseParts& sparse_parts(const Tensor& t) { return *static_cast<SparseParts*>(t.storage().context()); }

Layout layout_of(const Tensor& t) { return t.is_sparse() ? sparse_parts(t).layout : Layout::Strided; }

}  // namespace undertow::core
