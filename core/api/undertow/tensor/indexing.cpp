// indexing.cpp: Tensor::index and index_put_. The rules are those of Note [Items Of An Index] in
// core/python/tensor/indexing.cpp, which reads Python's objects.
// build: small
#include <undertow/tensor/indexing.h>

#include <limits>
#include <ostream>

#include "core/forward/create/create.h"
#include "core/tensor/elementwise_iter.h"

namespace undertow {

namespace indexing {

Slice::Slice(optional<int64_t> start, optional<int64_t> stop, optional<int64_t> step)
    : start_(start.value_or(0)), stop_(stop.value_or(std::numeric_limits<int64_t>::max())), step_(step.value_or(1)) {
  UT_CHECK_VALUE(step_ != 0, "slice step cannot be zero");
  UT_CHECK_VALUE(step_ > 0, "step must be greater than zero; got ", step_);
}
TensorIndex::TensorIndex(const char* text) : kind_(Kind::Ellipsis) {
  UT_CHECK_VALUE(std::string_view(text) == "...", "Expected \"...\" to represent an ellipsis index, but got \"", text,
                 "\"");
}
std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  return out << slice.start() << ':' << slice.stop() << ':' << slice.step();
}

}  // namespace indexing

using indexing::TensorIndex;

namespace {

bool is_mask(const core::Tensor& t) { return t.dtype() == core::DType::Bool || t.dtype() == core::DType::UInt8; }

class Walk {
 public:
  Walk(const Tensor& self, ArrayRef<TensorIndex> items) : now(self), self_(self) {
    UT_CHECK(!items.empty(), "Passing an empty index list to Tensor::index() is not valid syntax");
    int64_t named = 0;
    for (const TensorIndex& i : items) {
      UT_CHECK_INDEX(!i.is_tensor() || i.tensor().defined(),
                     "an undefined tensor is no index; use None for a new dimension");
      named += dims_named_by(i);
    }
    UT_CHECK_INDEX(named <= self.dim(), "too many indices for tensor of dimension ", self.dim());
    for (size_t i = 0; i < items.size(); i++) item(items[i], i, named);
  }
  core::Tensor now;                   // what the items other than tensors select
  std::vector<core::Tensor> tensors;  // undefined for a dimension that is taken whole
  bool is_whole() const { return now.is_same(self_); }

 private:
  static int64_t dims_named_by(const TensorIndex& i) {
    if (i.is_none() || i.is_ellipsis() || i.is_boolean()) return 0;
    return i.is_tensor() && is_mask(i.tensor()) ? i.tensor().dim() : 1;
  }
  void select(int64_t index, size_t position) {
    UT_CHECK_INDEX(now.dim() > 0,
                   "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                   "convert a 0-dim tensor to a number");
    int64_t n = now.size(dim_);
    UT_CHECK_INDEX(index >= -n && index < n, "index ", index, " is out of bounds for dimension ", position,
                   " with size ", n);
    now = core::ops::select(now, dim_, index);
  }
  void record(core::Tensor t) {
    int64_t covers = is_mask(t) ? t.dim() : 1;
    for (; covered_ < dim_; covered_++) tensors.emplace_back();
    tensors.push_back(std::move(t));
    covered_ += covers;
    dim_ += covers;
  }
  // A new dimension with one element or none.
  void boolean(bool on) {
    now = core::ops::unsqueeze(now, dim_);
    record(core::ops::zeros(core::Dims{on ? 1 : 0}, core::DType::Int64));
  }
  void item(const TensorIndex& i, size_t position, int64_t named) {
    switch (i.kind()) {
      case TensorIndex::Kind::Integer:
        return select(i.integer(), position);
      case TensorIndex::Kind::Slice: {
        UT_CHECK_INDEX(now.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
        const indexing::Slice& s = i.slice();
        if (s.start() != 0 || s.stop() < now.size(dim_) || s.step() != 1)
          now = core::ops::slice(now, dim_, s.start(), s.stop(), s.step());
        dim_++;
        return;
      }
      case TensorIndex::Kind::Ellipsis:
        dim_ += self_.dim() - named;
        return;
      case TensorIndex::Kind::None:
        now = core::ops::unsqueeze(now, dim_);
        dim_++;
        return;
      case TensorIndex::Kind::Boolean:
        return boolean(i.boolean());
      case TensorIndex::Kind::Tensor:
        return tensor(i.tensor(), position);
    }
  }
  void tensor(const core::Tensor& t, size_t position) {
    if (t.dim() == 0 && core::is_integral(t.dtype()) && !t.impl()->has(core::kDelegated | core::kDispatched)) {
      core::Scalar value = core::ops::item(t);
      return is_mask(t) ? boolean(value.to<bool>()) : select(value.to_int(), position);
    }
    record(t);
  }

  const core::Tensor& self_;
  int64_t dim_ = 0, covered_ = 0;
};

void assign(const core::Tensor& to, const core::Tensor& values) {
  core::Tensor from = values;
  core::IntSpan sizes = from.sizes();
  size_t ones = 0;
  while (sizes.size() - ones > static_cast<size_t>(to.dim()) && sizes[ones] == 1) ones++;
  if (ones) from = core::ops::reshape(from, sizes.subspan(ones));
  if (!core::same(from.sizes(), to.sizes())) from = core::ops::expand(from, to.sizes());
  core::ops::copy_(to, from);
}

}  // namespace

Tensor Tensor::index(ArrayRef<TensorIndex> indices) const {
  Walk walk(*this, indices);
  if (!walk.tensors.empty()) return core::ops::index(walk.now, walk.tensors);
  return walk.is_whole() ? core::ops::view_alias(*this) : walk.now;
}
Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const { return index(ArrayRef<TensorIndex>(indices)); }
Tensor Tensor::operator[](const Tensor& i) const { return index({i}); }

Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Tensor& values) {
  UT_CHECK_TYPE(!is_sparse(), "Cannot assign to a sparse tensor");
  Walk walk(*this, indices);
  if (walk.tensors.empty())
    assign(walk.now, values);
  else
    core::ops::index_put_(walk.now, walk.tensors, values);
  return *this;
}
Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Scalar& value) {
  UT_CHECK_TYPE(!is_sparse(), "Cannot assign to a sparse tensor");
  core::fwd::check_fits(value, dtype());
  Walk walk(*this, indices);
  if (walk.tensors.empty()) {
    core::check_no_internal_overlap(walk.now);  // as for a tensor; fill_ itself takes expanded tensors
    core::ops::fill_(walk.now, value);
  } else {
    core::ops::index_put_(walk.now, walk.tensors,
                          core::ops::full(core::IntSpan(), value, core::DType(dtype()), core::Device(device())));
  }
  return *this;
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values) {
  return index_put_(ArrayRef<TensorIndex>(indices), values);
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value) {
  return index_put_(ArrayRef<TensorIndex>(indices), value);
}

}  // namespace undertow
