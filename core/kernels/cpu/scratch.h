// scratch.h: memory a kernel borrows for the length of one call, kept for the thread's next call.
// Does not know what it is used for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace undertow::cpu {

namespace detail {
int new_scratch_purpose();
// At least this many bytes, on a cache line's border; the thread's own.
void* scratch_of(int purpose, size_t bytes);
}  // namespace detail

// A growing buffer, one per thread and per Purpose (any type of the caller's, so that two users never meet).
// Kept because fresh pages cost more than packing into them: several megabytes are a thousand page faults.
// Contents are valid until the same thread asks again for the same Purpose.
template <class Purpose>
class Scratch {
 public:
  template <class T>
  static T* get(int64_t count) {
    static const int purpose = detail::new_scratch_purpose();
    return static_cast<T*>(detail::scratch_of(purpose, static_cast<size_t>(count) * sizeof(T)));
  }
};

}  // namespace undertow::cpu
