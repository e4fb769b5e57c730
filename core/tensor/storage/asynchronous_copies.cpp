// asynchronous_copies.cpp: see asynchronous_copies.h.
#include "core/tensor/storage/asynchronous_copies.h"

namespace undertow::core {

namespace {
thread_local bool allowed = false;
}

bool copies_may_be_asynchronous() { return allowed; }
AsynchronousCopies::AsynchronousCopies(bool on) : before_(allowed) { allowed = on; }
AsynchronousCopies::~AsynchronousCopies() { allowed = before_; }

}  // namespace undertow::core
