// options.h: what a creation function is told about its result: dtype(kFloat).device(kCPU).requires_grad(true).
#pragma once
#include <undertow/types/array_ref.h>
#include <undertow/types/device.h>
#include <undertow/types/scalar.h>
#include <undertow/types/scalar_type.h>

namespace undertow {

// Every field may be missing: the creation function then uses its default (get_default_dtype(), the CPU). The setters
// return a changed copy, so that they can be chained. Converts from a dtype, a device, a layout or a memory format.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(core::DType dtype) : dtype_(dtype) {}
  TensorOptions(Layout layout) : layout_(layout) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}
  TensorOptions(const Device& device) : device_(device) {}
  TensorOptions(DeviceType device) : device_(Device(device)) {}
  TensorOptions(DeviceType device, int64_t index) : device_(Device(device, static_cast<DeviceIndex>(index))) {}
  TensorOptions(const char* device) : device_(Device(device)) {}
  TensorOptions(const std::string& device) : device_(Device(device)) {}

  TensorOptions dtype(optional<ScalarType> dtype) const { return with(&TensorOptions::dtype_, dtype); }
  template <class T>
  TensorOptions dtype() const {
    return dtype(CppTypeToScalarType<T>::value);
  }
  TensorOptions device(optional<Device> device) const { return with(&TensorOptions::device_, device); }
  TensorOptions device(DeviceType type, DeviceIndex index) const { return device(Device(type, index)); }
  TensorOptions device_index(DeviceIndex index) const { return device(Device(device().type(), index)); }
  TensorOptions layout(optional<Layout> layout) const { return with(&TensorOptions::layout_, layout); }
  TensorOptions requires_grad(optional<bool> on) const { return with(&TensorOptions::requires_grad_, on); }
  TensorOptions pinned_memory(optional<bool> on) const { return with(&TensorOptions::pinned_memory_, on); }
  TensorOptions memory_format(optional<MemoryFormat> format) const {
    return with(&TensorOptions::memory_format_, format);
  }

  ScalarType dtype() const;
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  bool pinned_memory() const { return pinned_memory_.value_or(false); }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  bool has_layout() const { return layout_.has_value(); }
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  bool has_memory_format() const { return memory_format_.has_value(); }
  optional<ScalarType> dtype_opt() const { return dtype_; }
  optional<Device> device_opt() const { return device_; }
  optional<Layout> layout_opt() const { return layout_; }
  optional<bool> requires_grad_opt() const { return requires_grad_; }
  optional<bool> pinned_memory_opt() const { return pinned_memory_; }
  optional<MemoryFormat> memory_format_opt() const { return memory_format_; }

  // The fields of `options` where it has them, and ours elsewhere.
  TensorOptions merge_in(const TensorOptions& options) const {
    TensorOptions out = options;
    if (!out.dtype_) out.dtype_ = dtype_;
    if (!out.device_) out.device_ = device_;
    if (!out.layout_) out.layout_ = layout_;
    if (!out.requires_grad_) out.requires_grad_ = requires_grad_;
    if (!out.pinned_memory_) out.pinned_memory_ = pinned_memory_;
    if (!out.memory_format_) out.memory_format_ = memory_format_;
    return out;
  }

 private:
  template <class T>
  TensorOptions with(optional<T> TensorOptions::* field, const optional<T>& value) const {
    TensorOptions out = *this;
    out.*field = value;
    return out;
  }
  optional<ScalarType> dtype_;
  optional<Device> device_;
  optional<Layout> layout_;
  optional<bool> requires_grad_, pinned_memory_;
  optional<MemoryFormat> memory_format_;
};
std::ostream& operator<<(std::ostream& out, const TensorOptions& options);

inline TensorOptions dtype(ScalarType t) { return TensorOptions().dtype(t); }
template <class T>
TensorOptions dtype() {
  return TensorOptions().dtype<T>();
}
inline TensorOptions device(const Device& d) { return TensorOptions().device(d); }
inline TensorOptions device_index(DeviceIndex index) { return TensorOptions().device(kCUDA, index); }
inline TensorOptions layout(Layout l) { return TensorOptions().layout(l); }
inline TensorOptions memory_format(MemoryFormat f) { return TensorOptions().memory_format(f); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

// What Tensor::type() returns. Older programs ask it for the dtype and the device: zeros({2}, x.type()).
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(ScalarType dtype, const Device& device, Layout layout)
      : dtype_(dtype), device_(device), layout_(layout) {}
  ScalarType scalarType() const { return dtype_; }
  DeviceType device_type() const { return device_.type(); }
  bool is_cuda() const { return device_.is_cuda(); }
  bool is_sparse() const { return layout_ == kSparse; }
  TensorOptions options() const { return TensorOptions().dtype(dtype_).device(device_).layout(layout_); }
  operator ScalarType() const { return dtype_; }
  operator TensorOptions() const { return options(); }
  bool operator==(const DeprecatedTypeProperties& other) const {
    return dtype_ == other.dtype_ && device_.type() == other.device_.type() && layout_ == other.layout_;
  }

 private:
  ScalarType dtype_;
  Device device_;
  Layout layout_;
};

// The dtype of tensors made from floating point numbers when none is given; initially kFloat.
ScalarType get_default_dtype();
void set_default_dtype(ScalarType dtype);

}  // namespace undertow
