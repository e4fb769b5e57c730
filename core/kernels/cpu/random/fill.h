// fill.h: dispatches a run-time dtype and any layout to a fill of contiguous memory from a generator.
#pragma once
#include <memory>

#include "core/kernels/cpu/random/random.h"
#include "core/kernels/generator.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

// The CPU generator produces the same numbers as torch's: see Note [Torch Random Streams].
class MersenneStream final : public RandomStream {
 public:
  void set_seed(uint64_t seed) override { state.set_seed(seed); }
  std::unique_ptr<RandomStream> clone() const override { return std::make_unique<MersenneStream>(*this); }
  size_t state_bytes() const override { return random::kStateBytes; }
  void get_state(uint8_t* bytes) const override { state.get_state(bytes); }
  bool set_state(const uint8_t* bytes) override { return state.set_state(bytes); }
  random::RandomState state;
};
inline random::RandomState& state_of(Generator& g) { return static_cast<MersenneStream&>(*g.stream).state; }

// Dispatches to the element types of the random kernels, for float dtypes.
template <class F>
decltype(auto) dispatch_floating(DType t, const char* kernel, F&& f) {
  switch (t) {
    case DType::Float16:
      return f(TypeTag<random::Half>{});
    case DType::BFloat16:
      return f(TypeTag<random::BFloat16>{});
    case DType::Float32:
      return f(TypeTag<float>{});
    case DType::Float64:
      return f(TypeTag<double>{});
    default:
      throw_not_implemented(kernel, t);
  }
}
// The same for every dtype that is not complex.
template <class F>
decltype(auto) dispatch_drawn(DType t, const char* kernel, F&& f) {
  switch (t) {
    case DType::Bool:
      return f(TypeTag<bool>{});
    case DType::UInt8:
      return f(TypeTag<uint8_t>{});
    case DType::Int8:
      return f(TypeTag<int8_t>{});
    case DType::Int16:
      return f(TypeTag<int16_t>{});
    case DType::Int32:
      return f(TypeTag<int32_t>{});
    case DType::Int64:
      return f(TypeTag<int64_t>{});
    default:
      return dispatch_floating(t, kernel, std::forward<F>(f));
  }
}

// Writes t.numel() contiguous elements of t's dtype to t, in the order of t's memory.
void write_in_memory_order(const Tensor& t, const void* elements);

// fill(state, T*, n) draws all elements of t in memory order, under the generator's lock.
template <class T, class Fill>
void fill_in_memory_order(const Tensor& t, Generator& g, Fill&& fill) {
  std::lock_guard lock(g.mutex);
  random::RandomState& state = state_of(g);
  size_t n = static_cast<size_t>(t.numel());
  if (t.is_contiguous()) return fill(state, t.data_as<T>(), n);
  std::unique_ptr<T[]> drawn(new T[n]);
  fill(state, drawn.get(), n);
  write_in_memory_order(t, drawn.get());
}

}  // namespace undertow::core::cpu
