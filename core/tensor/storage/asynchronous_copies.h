// asynchronous_copies.h: whether a copy between host and device may return before it is done (non_blocking=True).
#pragma once

namespace undertow::core {

// Of this thread.
bool copies_may_be_asynchronous();

class AsynchronousCopies {
 public:
  explicit AsynchronousCopies(bool on);
  ~AsynchronousCopies();
  AsynchronousCopies(const AsynchronousCopies&) = delete;
  AsynchronousCopies& operator=(const AsynchronousCopies&) = delete;

 private:
  bool before_;
};

}  // namespace undertow::core
