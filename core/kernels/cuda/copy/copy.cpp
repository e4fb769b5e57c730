// copy.cpp: see copy.h.
#include "core/kernels/cuda/copy/copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "core/kernels/backend.h"
#include "core/kernels/cuda/copy/copy_params.h"
#include "core/kernels/cuda/device/loop_nest_host.h"
#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/memory.h"
#include "core/kernels/cuda/pointwise/operators.h"
#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow::core::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr char kCopySource[] = "#include \"copy/copy.cuh\"\n";
PointwiseProgram moved(kCopySource, "Moved"), conj_neg(kCopySource, "ConjNeg");
KernelTemplate copy_transposed("copy/copy.cuh", "copy_transposed");
KernelTemplate fill_dense("copy/copy.cuh", "fill_dense");
KernelTemplate fill_strided("copy/copy.cuh", "fill_strided");

// Conversions to dtype `to`, from any other.
PointwiseProgram& conversion_to(DType to) {
  static std::array<std::atomic<PointwiseProgram*>, kNumDTypes> programs;
  static std::mutex growing;
  std::atomic<PointwiseProgram*>& slot = programs[static_cast<size_t>(to)];
  if (PointwiseProgram* found = slot.load(std::memory_order_acquire)) return *found;
  std::lock_guard lock(growing);
  if (!slot.load())
    slot.store(new PointwiseProgram(
        str(kCopySource, "template <class From> using ConvertedHere = Converted<From, ", device_type(to), ">;\n"),
        "ConvertedHere"));
  return *slot.load();
}

// Copies where the innermost dimension of dst is dense, but another one of src: false if the layouts are not like that.
bool copy_by_tiles(const Launcher& on, const ElementwiseIter& iter, DType to, DType from) {
  IntSpan dims = iter.dims(), to_strides = iter.byte_strides(0), from_strides = iter.byte_strides(1);
  constexpr int64_t kLeast = 16;  // narrower rectangles waste most of a tile
  if (dims.size() < 2 || dims.size() > LoopNest<2>::kMaxDims + 2 || to_strides[0] != itemsize(to) || dims[0] < kLeast ||
      iter.numel() > kMaxLoop)
    return false;
  size_t second = 1;
  while (second < dims.size() && from_strides[second] != itemsize(from)) second++;
  if (second == dims.size() || from_strides[0] == itemsize(from) || dims[second] < kLeast) return false;
  Loop<2> planes{{}, {}, {}};
  for (size_t d = 1; d < dims.size(); d++) {
    if (d == second) continue;
    planes.sizes.push_back(dims[d]);
    planes.strides[0].push_back(to_strides[d]);
    planes.strides[1].push_back(from_strides[d]);
  }
  int64_t tile = undertow::transpose_tile(static_cast<int>(std::max(itemsize(to), itemsize(from))));
  int64_t tiles_to = blocks_for(dims[0], tile), tiles_from = blocks_for(dims[second], tile);
  undertow::TransposedCopy params{static_cast<uint32_t>(dims[0]),
                                  static_cast<uint32_t>(dims[second]),
                                  from_strides[0],
                                  to_strides[second],
                                  divisor_of(tiles_to),
                                  divisor_of(tiles_from),
                                  planes.nest()};
  DType out = to == from ? same_width(to) : to, in = to == from ? out : from;
  on.run(copy_transposed, {out, in},
         {.blocks = tiles_to * tiles_from * planes.numel(), .threads = undertow::kTransposeThreads}, iter.pointer(0),
         iter.pointer(1), params);
  return true;
}

bool is_dense(const ElementwiseIter& iter, int64_t width) {
  IntSpan dims = iter.dims();
  return dims.empty() || (dims.size() == 1 && iter.byte_strides(0)[0] == width && iter.byte_strides(1)[0] == width);
}

void copy_bytes(const Launcher& on, void* to, const void* from, int64_t bytes) {
  check(driver().memcpy_async(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from),
                              static_cast<size_t>(bytes), on.stream()),
        "copy_");
}

// Between the host and the device, or two devices. Both row-major and of one dtype.
void copy_bytes_across(const Tensor& dst, const Tensor& src) {
  copy_memory(dst.data(), dst.device(), src.data(), src.device(), static_cast<size_t>(dst.nbytes()));
}

void copy_across(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0) return;
  // Conversions and layouts are handled on the source's side if that makes fewer bytes travel, else on the other.
  Tensor from = src;
  if (!src.is_contiguous() || (src.dtype() != dst.dtype() && src.itemsize() > dst.itemsize())) {
    from = empty(src.sizes(), src.itemsize() > dst.itemsize() ? dst.dtype() : src.dtype(), src.device());
    backend_of(src).copy->copy(from, src);
  }
  if (dst.is_contiguous() && from.dtype() == dst.dtype()) return copy_bytes_across(dst, from);
  Tensor there = empty(dst.sizes(), from.dtype(), dst.device());
  copy_bytes_across(there, from);
  backend_of(dst).copy->copy(dst, there);
}

void conj_neg_in_place(const Tensor& t, bool conj, bool neg) {
  ElementwiseIter iter;
  iter.add_output(t, t.dtype());
  iter.add_input(t);
  iter.build();
  PointwiseOperands operands;
  write_element(DType::Bool, Scalar(conj), operands.numbers[0].bytes);
  write_element(DType::Bool, Scalar(neg), operands.numbers[1].bytes);
  int64_t widths[] = {t.itemsize(), t.itemsize()};
  run_program(conj_neg, t.dtype(), iter, widths, operands);
}

// One value in its memory representation, repeated.
struct alignas(16) Pattern {
  char bytes[16];
  Pattern(const Tensor& dst, const Scalar& value) {
    Scalar stored = dst.is_conj() ? value.conj() : value;
    size_t width = static_cast<size_t>(dst.itemsize());
    write_element(dst.dtype(), dst.is_neg() ? -stored : stored, bytes);
    for (size_t at = width; at < sizeof(bytes); at += width) std::memcpy(bytes + at, bytes, width);
  }
};

void fill(const Tensor& dst, const Scalar& value) {
  if (dst.numel() == 0) return;
  Pattern pattern(dst, value);
  ElementwiseIter iter;
  iter.allow_internal_overlap();
  iter.add_output(dst, dst.dtype());
  iter.build();
  Loop<1> loop{{}, {}, {iter.pointer(0)}};
  for (size_t d = 0; d < iter.dims().size(); d++) {
    if (iter.byte_strides(0)[d] == 0) continue;  // an expanded dimension: all the same element
    loop.sizes.push_back(iter.dims()[d]);
    loop.strides[0].push_back(iter.byte_strides(0)[d]);
  }
  Launcher on(dst);
  bool dense = loop.sizes.empty() || (loop.sizes.size() == 1 && loop.strides[0][0] == dst.itemsize());
  if (dense && reinterpret_cast<uintptr_t>(loop.pointers[0]) % 16 == 0) {
    int64_t bytes = loop.numel() * dst.itemsize();
    on.run(fill_dense, {},
           {.blocks = std::clamp<int64_t>(blocks_for(bytes, kThreads * 64), 1, 65536), .threads = kThreads},
           loop.pointers[0], pattern, bytes);
    return;
  }
  for_each_part(loop, [&](const Loop<1>& part) {
    uint32_t n = static_cast<uint32_t>(part.numel());
    on.run(fill_strided, {same_width(dst.dtype())}, {.blocks = blocks_for(n, kThreads * 4), .threads = kThreads},
           part.pointers[0], pattern, n, part.nest());
  });
}

Scalar item(const Tensor& t) {
  Tensor host = empty({}, t.dtype());
  copy_bytes_across(host, t);
  return backend_of(host).copy->item(host);
}

void convert_checked(const Tensor& dst, const Tensor& src, void (*check)(const Scalar& value, DType dtype)) {
  Scalar value = item(src);
  check(value, dst.dtype());
  fill(dst, value);
}

}  // namespace

void zero(const Tensor& dst) {
  if (dst.numel() == 0) return;
  Launcher on(dst);
  check(driver().memset_d8_async(reinterpret_cast<CUdeviceptr>(dst.data()), 0, static_cast<size_t>(dst.nbytes()),
                                 on.stream()),
        "zero_");
}

void copy(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0) return;
  Launcher on(dst);
  DType to = dst.dtype(), from = src.dtype();
  if (to == from && dst.is_contiguous() && src.is_contiguous())
    return copy_bytes(on, dst.data(), src.data(), dst.nbytes());
  ElementwiseIter iter;
  iter.add_output(dst, to);
  iter.add_input(src);
  iter.build();
  if (to == from && is_dense(iter, dst.itemsize()))
    return copy_bytes(on, iter.pointer(0), iter.pointer(1), dst.nbytes());
  if (copy_by_tiles(on, iter, to, from)) return;
  PointwiseOperands operands;
  int64_t widths[] = {itemsize(to), itemsize(from)};
  if (to == from)
    run_program(moved, same_width(to), iter, widths, operands);
  else
    run_program(conversion_to(to), from, iter, widths, operands);
}

void move_elements(const Launcher& on, char* to, const char* from, const Dims& sizes, const Dims& to_strides,
                   const Dims& from_strides, DType dtype) {
  PointwiseLoop loop{{}, {}, {to, const_cast<char*>(from), nullptr, nullptr}};
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 0) return;
    if (sizes[d] == 1) continue;
    bool joins = !loop.sizes.empty() && to_strides[d] == loop.strides[0].back() * loop.sizes.back() &&
                 from_strides[d] == loop.strides[1].back() * loop.sizes.back();
    if (joins) {
      loop.sizes.back() *= sizes[d];
      continue;
    }
    loop.sizes.push_back(sizes[d]);
    loop.strides[0].push_back(to_strides[d]);
    loop.strides[1].push_back(from_strides[d]);
    loop.strides[2].push_back(0);
    loop.strides[3].push_back(0);
  }
  PointwiseOperands operands;
  operands.kinds[0] = undertow::kDenseInput;
  int64_t widths[] = {itemsize(dtype), itemsize(dtype)};
  run_loop(on, moved, same_width(dtype), loop, 2, widths, operands);
}

Tensor contiguous(const Tensor& t) { return contiguous_as(t, t.dtype()); }

Tensor contiguous_as(const Tensor& t, DType dtype) {
  if (t.is_contiguous() && t.dtype() == dtype) return t;
  Tensor out = empty_on_device_of(t, t.sizes(), dtype);
  copy(out, t);
  return out;
}

const CopyKernels copy_kernels = {
    .copy = copy,
    .copy_across = copy_across,
    .conj_neg_in_place = conj_neg_in_place,
    .fill = fill,
    .zero = zero,
    .convert_checked = convert_checked,
    .item = item,
};

}  // namespace undertow::core::cuda
