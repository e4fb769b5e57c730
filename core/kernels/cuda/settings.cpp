// settings.cpp: see settings.h.
#include "core/kernels/cuda/settings.h"

namespace undertow::core::cuda {

namespace {
constinit NamedSwitch* first = nullptr;  // the list grows while the library is loaded, and never after
}

NamedSwitch::NamedSwitch(const char* name, std::atomic<bool>& value) : name_(name), value_(value), next_(first) {
  first = this;
}

std::atomic<bool>* NamedSwitch::find(std::string_view name) {
  for (NamedSwitch* s = first; s; s = s->next_)
    if (name == s->name_) return &s->value_;
  return nullptr;
}

}  // namespace undertow::core::cuda
