// kernel.cpp: see kernel.h.
#include "core/kernels/cuda/compile/kernel.h"

#include <cstdlib>
#include <mutex>

#include "core/kernels/cuda/compile/image_cache.h"
#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/device.h"

namespace undertow::core::cuda {

namespace {

std::mutex compile_mutex;  // guards the lists of instances while they grow

bool synchronous_launches() {
  static const bool on = [] {
    const char* v = std::getenv("UNDERTOW_CUDA_SYNC");
    return v && *v && *v != '0';
  }();
  return on;
}

constexpr unsigned kDefaultSharedBytes = 48 * 1024;  // more must be asked for, once per function

}  // namespace

const char* device_type(DType t) {
  static const char* const names[kNumDTypes] = {
      "bool",    "uint8_t",  "uint16_t",      "uint32_t",    "uint64_t",        "int8_t",          "int16_t",
      "int32_t", "int64_t",  "Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz", "Float8_e8m0fnu",
      "Half",    "BFloat16", "float",         "double",      "Complex<Half>",   "Complex<float>",  "Complex<double>"};
  return names[static_cast<int>(t)];
}

DType same_width(DType t) {
  switch (itemsize(t)) {
    case 1:
      return DType::UInt8;
    case 2:
      return DType::Int16;
    case 4:
      return DType::Int32;
    case 8:
      return DType::Int64;
    default:
      return DType::Complex128;
  }
}

std::string TemplateArg::text() const {
  switch (kind_) {
    case Kind::DType:
      return device_type(static_cast<DType>(value_));
    case Kind::Name:
      return reinterpret_cast<const char*>(static_cast<intptr_t>(value_));
    default:
      return str(value_);
  }
}

KernelTemplate::KernelTemplate(const char* file, const char* function)
    : text_(str("#include \"", file, "\"\n")), function_(function) {}

KernelTemplate KernelTemplate::from_text(std::string text, std::string function) {
  return {std::move(text), std::move(function)};
}

CUfunction KernelTemplate::add(TemplateArgs args, int device) {
  UT_ASSERT(args.size() <= kMaxArgs, "arguments of kernel ", function_);
  std::string expression = function_;
  if (args.size()) {
    expression += '<';
    for (const TemplateArg& a : args) {
      if (expression.back() != '<') expression += ", ";
      expression += a.text();
    }
    expression += '>';
  }
  CUfunction function = load_function(text_, expression, device);
  auto* fresh = new Instance{{}, device, function, nullptr};
  std::copy(args.begin(), args.end(), fresh->args);
  std::lock_guard lock(compile_mutex);
  fresh->next = first_.load(std::memory_order_relaxed);
  first_.store(fresh, std::memory_order_release);
  return function;
}

int Launcher::multiprocessors() const { return device_state(device_).multiprocessors; }

void Launcher::launch(const KernelTemplate& kernel, CUfunction function, const LaunchShape& shape,
                      void** params) const {
  if (shape.blocks == 0) return;
  UT_CHECK(shape.blocks <= INT32_MAX, kernel.function(), ": the tensor is too large for one CUDA kernel (",
           shape.blocks, " blocks)");
  const Driver& d = driver();
  if (UT_UNLIKELY(shape.shared_bytes > kDefaultSharedBytes))
    check(d.func_set_attribute(function, kFunctionMaxDynamicSharedBytes, static_cast<int>(shape.shared_bytes)),
          kernel.function().c_str());
  check(d.launch_kernel(function, static_cast<unsigned>(shape.blocks), shape.blocks_y, shape.blocks_z, shape.threads,
                        shape.threads_y, 1, shape.shared_bytes, stream_, params, nullptr),
        kernel.function().c_str());
  if (UT_UNLIKELY(synchronous_launches())) check(d.stream_synchronize(stream_), kernel.function().c_str());
}

}  // namespace undertow::core::cuda
