// accessor.h: fast access to the elements of a tensor with a known dtype and number of dimensions:
//   auto a = t.accessor<float, 2>();  a[i][j] = 1;
// None keeps the tensor alive or checks indices.
#pragma once
#include <array>
#include <limits>
#include <utility>

#include <undertow/tensor.h>

namespace undertow {

// How an accessor declares its pointer.
template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

// Refers to sizes and strides that are kept elsewhere.
template <class T, size_t N, template <class> class PtrTraits, class index_t>
class TensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  TensorAccessor(PtrType data, const index_t* sizes, const index_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  // An accessor with one dimension less; of one dimension, the element.
  decltype(auto) operator[](index_t i) const {
    if constexpr (N > 1)
      return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    else
      return static_cast<T&>(data_[strides_[0] * i]);
  }
  ArrayRef<index_t> sizes() const { return {sizes_, N}; }
  ArrayRef<index_t> strides() const { return {strides_, N}; }
  index_t size(index_t d) const { return sizes_[d]; }
  index_t stride(index_t d) const { return strides_[d]; }
  PtrType data() const { return data_; }

 private:
  PtrType data_;
  const index_t *sizes_, *strides_;
};

// Contains its sizes and strides, as indices of type index_t, and so can be copied to where the tensor is not.
template <class T, size_t N, template <class> class PtrTraits, class index_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  template <class Index>
  GenericPackedTensorAccessor(PtrType data, const Index* sizes, const Index* strides) : data_(data) {
    for (size_t d = 0; d < N; d++) {
      sizes_[d] = static_cast<index_t>(sizes[d]);
      strides_[d] = static_cast<index_t>(strides[d]);
    }
  }
  decltype(auto) operator[](index_t i) const {
    return TensorAccessor<T, N, PtrTraits, index_t>(data_, sizes_.data(), strides_.data())[i];
  }
  index_t size(index_t d) const { return sizes_[static_cast<size_t>(d)]; }
  index_t stride(index_t d) const { return strides_[static_cast<size_t>(d)]; }
  PtrType data() const { return data_; }
  GenericPackedTensorAccessor transpose(index_t a, index_t b) const {
    GenericPackedTensorAccessor out = *this;
    std::swap(out.sizes_[static_cast<size_t>(a)], out.sizes_[static_cast<size_t>(b)]);
    std::swap(out.strides_[static_cast<size_t>(a)], out.strides_[static_cast<size_t>(b)]);
    return out;
  }

 private:
  PtrType data_;
  std::array<index_t, N> sizes_, strides_;
};

template <class T, size_t N>
TensorAccessor<T, N> Tensor::accessor() const& {
  static_assert(N > 0, "accessor is used for indexing tensor, for scalars use *data_ptr<T>()");
  UT_CHECK(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
  return {data_ptr<T>(), sizes().data(), strides().data()};
}
template <class T, size_t N, template <class> class PtrTraits, class index_t>
GenericPackedTensorAccessor<T, N, PtrTraits, index_t> Tensor::generic_packed_accessor() const& {
  static_assert(N > 0, "packed accessors are for indexing tensors, for scalars use *data_ptr<T>()");
  UT_CHECK(dim() == static_cast<int64_t>(N), "packed_accessor expected ", N, " dims but tensor has ", dim());
  UT_CHECK(numel() <= static_cast<int64_t>(std::numeric_limits<index_t>::max()),
           "packed_accessor: the tensor has too many elements for 32-bit indices: use packed_accessor64");
  return {data_ptr<T>(), sizes().data(), strides().data()};
}

}  // namespace undertow
