// loaded_tensor.cpp: see loaded_tensor.h.
// build: small
#include "core/api/formats/loaded_tensor.h"

#include <algorithm>

#include "core/api/formats/file.h"

namespace undertow::formats {

#define UT_LAYOUT_CHECK(condition, ...) UT_FORMAT_CHECK(condition, "corrupt file: ", __VA_ARGS__)

void check_bools(const core::Storage& storage) {
  for (size_t i = 0; i < storage.nbytes(); i++)
    UT_FORMAT_CHECK(static_cast<unsigned char>(storage.data()[i]) <= 1,
                    "corrupt file: a bool storage contains bytes other than 0 and 1");
}

Tensor tensor_over(const core::Ref<core::Storage>& storage, core::DType dtype, int64_t offset, core::IntSpan sizes,
                   core::IntSpan strides) {
  UT_LAYOUT_CHECK(sizes.size() == strides.size() && sizes.size() <= kMostDimensions, "a tensor of ", sizes.size(),
                  " sizes and ", strides.size(), " strides");
  using Wide = __int128;
  const Wide largest = INT64_MAX;
  Wide numel = 1, last = offset;
  bool valid = offset >= 0;
  for (size_t i = 0; i < sizes.size(); i++) {
    valid = valid && sizes[i] >= 0 && strides[i] >= 0;
    numel = std::min(numel * sizes[i], largest + 1);
    last = std::min(last + Wide(sizes[i] - 1) * strides[i], largest + 1);
  }
  UT_LAYOUT_CHECK(valid, "the sizes ", core::ShapeText{sizes}, ", strides ", core::ShapeText{strides}, " and offset ",
                  offset, " of a tensor must not be negative");
  Wide bytes = static_cast<Wide>(storage->nbytes()), itemsize = core::itemsize(dtype);
  UT_LAYOUT_CHECK(numel == 0 || (last + 1) * itemsize <= bytes, "a tensor of size ", core::ShapeText{sizes},
                  ", stride ", core::ShapeText{strides}, " and offset ", offset, " is out of bounds for storage of ",
                  storage->nbytes(), " bytes");
  // torch saves an expanded tensor with strides of zero: many elements in few bytes.
  UT_LAYOUT_CHECK(numel <= (Wide(1) << 30) || numel * itemsize <= bytes, "size ", core::ShapeText{sizes}, " repeats ",
                  storage->nbytes(), " bytes too often");
  UT_LAYOUT_CHECK(numel * itemsize <= largest, "a tensor larger than any memory");
  auto* impl = new core::TensorImpl;
  core::Tensor t = core::Tensor::adopt(impl);
  impl->dtype = dtype;
  impl->storage = core::Ref<core::Storage>(storage).leak();
  impl->offset = offset;
  impl->set_layout(sizes, strides);
  return t;
}

}  // namespace undertow::formats
