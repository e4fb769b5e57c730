// operators.cpp: see operators.h.
#include "core/kernels/cuda/pointwise/operators.h"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow::core::cuda {

namespace {

// One operator that has been used. Programs are made on first use and never freed.
struct Operator {
  const PointwiseOp* op;
  const PointwiseSource* source;
  std::array<std::atomic<PointwiseProgram*>, kNumDTypes> programs{};
};

// Open addressing by the operator's address: there are about 150 operators, all of them global objects.
constexpr size_t kSlots = 1024;
std::array<std::atomic<Operator*>, kSlots> slots;
std::mutex growing;

Operator& find(const PointwiseOp& op) {
  size_t at = (reinterpret_cast<uintptr_t>(&op) >> 4) * 0x9e3779b97f4a7c15ull >> 54;
  for (;; at = (at + 1) % kSlots) {
    Operator* found = slots[at].load(std::memory_order_acquire);
    if (found && found->op == &op) return *found;
    if (found) continue;
    std::lock_guard lock(growing);
    if (slots[at].load(std::memory_order_relaxed)) {  // another thread was faster
      at = (at + kSlots - 1) % kSlots;
      continue;
    }
    for (const PointwiseSource& s : pointwise_sources())
      if (std::strcmp(s.name, op.kernel_name()) == 0) {
        auto* made = new Operator{&op, &s};
        slots[at].store(made, std::memory_order_release);
        return *made;
      }
    UT_FAIL("the CUDA backend has no kernel of operator ", op.name(), "; it was built from other tables");
  }
}

DType functor_dtype(DType compute) { return is_reduced_float(compute) ? DType::Float32 : compute; }

PointwiseProgram& add_program(Operator& o, DType compute) {
  for (const PointwiseSource::Functor& f : o.source->functors) {
    if (f.dtype != functor_dtype(compute)) continue;
    std::string text = "#include \"pointwise/loop.cuh\"\n";
    if (is_complex(compute)) text += "#include \"device/complex_math.cuh\"\n";
    if (std::strstr(f.text, "special::")) text += "#include \"device/special_math.cuh\"\n";
    text += str("namespace undertow::scalar_math {\n", f.text, "}\n");
    std::lock_guard lock(growing);
    std::atomic<PointwiseProgram*>& slot = o.programs[static_cast<size_t>(compute)];
    if (!slot.load()) slot.store(new PointwiseProgram(text, "FromTable"), std::memory_order_release);
    return *slot.load();
  }
  throw_not_implemented(o.op->name(), compute);
}

}  // namespace

PointwiseProgram::PointwiseProgram(const std::string& text, const char* functor)
    : dense(KernelTemplate::from_text(text, "pointwise_dense")),
      vectors(KernelTemplate::from_text(text, "pointwise_vectors")),
      strided(KernelTemplate::from_text(text, "pointwise_strided")),
      functor(functor) {}

PointwiseProgram& program_of(const PointwiseOp& op, DType compute) {
  Operator& o = find(op);
  PointwiseProgram* found = o.programs[static_cast<size_t>(compute)].load(std::memory_order_acquire);
  return UT_LIKELY(found != nullptr) ? *found : add_program(o, compute);
}

void write_parameters(const PointwiseOp& op, DType compute, const Scalar* params, PointwiseValue* to) {
  if (!params) return;
  const PointwiseSource& s = *find(op).source;
  for (const char* letter = is_integral(compute) ? s.integer_parameters : s.parameters; *letter;
       letter++, params++, to++) {
    DType t = *letter == 'T'   ? functor_dtype(compute)
              : *letter == 'i' ? DType::Int64
              : *letter == 'd' ? DType::Float64
                               : DType::Bool;
    if (*letter != '-') write_element(t, *params, to->bytes);
  }
}

}  // namespace undertow::core::cuda
