// settings.h: switches of kernel families that programs set by name (CudaControl::set_switch).
#pragma once
#include <atomic>
#include <string_view>

namespace undertow::core::cuda {

// Declared once per switch, beside it: `static NamedSwitch allow_tf32("matmul.allow_tf32", precision.tf32);`
class NamedSwitch {
 public:
  NamedSwitch(const char* name, std::atomic<bool>& value);
  // Null if no family has a switch of this name.
  static std::atomic<bool>* find(std::string_view name);

 private:
  const char* name_;
  std::atomic<bool>& value_;
  NamedSwitch* next_;
};

}  // namespace undertow::core::cuda
