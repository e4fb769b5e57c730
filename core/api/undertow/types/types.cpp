// types.cpp: devices, dtypes, options, generators and names of classes: see device.h, scalar_type.h, options.h,
// generator.h, type_name.h.
// build: small
#include <cxxabi.h>

#include <cstdlib>
#include <ostream>

#include <undertow/cuda.h>
#include <undertow/functions.h>
#include <undertow/types/generator.h>
#include <undertow/types/options.h>
#include <undertow/types/type_name.h>
#include <undertow/version.h>

#include "core/base/parallel.h"
#include "core/kernels/backend.h"
#include "core/kernels/generator.h"
#include "core/tensor/dtype/promotion.h"

const int undertow_abi_version_1 = UNDERTOW_ABI_VERSION;

namespace undertow {

const char* version() { return UNDERTOW_VERSION; }

std::string detail::type_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : type.name();
  std::free(text);
  return out;
}

Device::Device(const std::string& text) {
  UT_CHECK(!text.empty(), "Device string must not be empty");
  size_t colon = text.find(':');
  std::string kind = text.substr(0, colon), known;
  int type = 0;
  while (type < core::kNumDeviceTypes && kind != core::kDeviceNames[type])
    known += core::str(type ? ", " : "", core::kDeviceNames[type]), type++;
  UT_CHECK(type < core::kNumDeviceTypes, "Expected one of ", known, " device type at start of device string: ", text);
  core::Device::type = static_cast<DeviceType>(type);
  if (colon == std::string::npos) return;
  std::string index = text.substr(colon + 1);
  bool is_number = !index.empty() && index.find_first_not_of("0123456789") == std::string::npos;
  UT_CHECK(is_number && (index == "0" || index[0] != '0'), "Invalid device string: '", text, "'");
  UT_CHECK(index.size() <= 3 && std::stoi(index) < 128, "Invalid device string: '", text,
           "': the index must be below 128");
  core::Device::index = static_cast<int8_t>(std::stoi(index));
}
std::string Device::str() const { return core::str(static_cast<const core::Device&>(*this)); }

std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }
std::ostream& core::operator<<(std::ostream& out, DeviceType type) { return out << name(type); }
std::ostream& core::operator<<(std::ostream& out, Layout layout) {
  constexpr const char* kNames[] = {"Strided", "Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc"};
  return out << kNames[static_cast<int>(layout)];
}
std::ostream& core::operator<<(std::ostream& out, MemoryFormat format) {
  constexpr const char* kNames[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return out << kNames[static_cast<int>(format)];
}
std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  return out << core::str(static_cast<const core::Scalar&>(s));
}
std::ostream& operator<<(std::ostream& out, const TensorOptions& o) {
  return out << "TensorOptions(dtype=" << o.dtype() << ", device=" << o.device()
             << ", layout=" << core::name(o.layout()) << ", requires_grad=" << (o.requires_grad() ? "true" : "false")
             << ", pinned_memory=" << (o.pinned_memory() ? "true" : "false") << ')';
}

ScalarType TensorOptions::dtype() const { return dtype_.value_or(get_default_dtype()); }
ScalarType get_default_dtype() { return core::default_dtype(); }
void set_default_dtype(ScalarType dtype) {
  UT_CHECK_TYPE(core::is_floating(dtype), "only floating-point types are supported as the default type, got ",
                core::name(dtype));
  core::set_default_dtype(dtype);
}

void Generator::set_current_seed(uint64_t seed) { impl_->manual_seed(seed); }
uint64_t Generator::current_seed() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->seed;
}
Device Generator::device() const { return impl_->device; }
Generator Generator::clone() const {
  auto copy = std::make_shared<core::Generator>(impl_->device);
  std::lock_guard lock(impl_->mutex);
  copy->seed = impl_->seed;
  copy->stream = impl_->stream->clone();
  return Generator(std::move(copy));
}
Generator make_generator(uint64_t seed, const Device& device) {
  Generator g(std::make_shared<core::Generator>(device));
  g.set_current_seed(seed);
  return g;
}
Generator default_generator(const Device& device) {
  return Generator(std::shared_ptr<core::Generator>(std::shared_ptr<void>(), &core::default_generator(device)));
}
void manual_seed(uint64_t seed) {
  core::default_generator().manual_seed(seed);
  // A backend that is opened later starts from the CPU's seed.
  if (core::backends[static_cast<size_t>(core::DeviceType::CUDA)]) cuda::manual_seed_all(seed);
}

void set_num_threads(int n) {
  UT_CHECK(n > 0, "set_num_threads expects a positive integer, got ", n);
  core::set_num_threads(n);
}
int get_num_threads() { return core::num_threads(); }

}  // namespace undertow
