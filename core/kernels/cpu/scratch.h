// scratch.h: memory that a kernel borrows for one call, kept for the thread's next call.
// Does not know what it is used for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace undertow::core::cpu {

namespace detail {
int new_scratch_purpose();
// At least this many bytes, aligned to a cache line; owned by this thread.
void* scratch_of(int purpose, size_t bytes);
}  // namespace detail

// A growing buffer, one per thread and Purpose (any type of the caller's, so that two users never share a buffer). It
// is kept because new pages cost more than packing into them: several megabytes are a thousand page faults. The
// contents are valid until the same thread asks again for the same Purpose.
template <class Purpose>
class Scratch {
 public:
  template <class T>
  static T* get(int64_t count) {
    static const int purpose = detail::new_scratch_purpose();
    return static_cast<T*>(detail::scratch_of(purpose, static_cast<size_t>(count) * sizeof(T)));
  }
};

}  // namespace undertow::core::cpu
