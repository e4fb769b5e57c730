// signals.h: lets long work notice that the user wants it to stop (Ctrl-C), without knowing the interpreter.
// The binding layer installs the function. Without it, everything here does nothing.
#pragma once
#include <cstdint>

namespace undertow {

// Note [Signals In Long Work]
// An interpreter runs its signal handlers between two of its own instructions, on its main thread. Work that stays in
// C++ for long calls poll_signals() now and then: parallel_for between chunks, the engine between nodes. On the main
// thread this runs the pending handlers every kSignalInterval. A handler that raises (KeyboardInterrupt) ends the work
// by an exception, like any other error: results that were being written are lost, what was written in place is partly
// written, and a graph can be used again as after any error. On other threads it does nothing; they finish the chunks
// that they have begun.
// Polling is by time because asking the interpreter takes its lock, for which another thread may have to be waited for.
// Reading a coarse clock costs some nanoseconds, and no chunk or group of nodes is that short.
inline constexpr int64_t kSignalInterval = 40'000'000;  // nanoseconds

// The engine's loops over nodes call poll_signals() this often.
inline constexpr uint32_t kNodesPerPoll = 32;

// Runs the handlers of signals that have arrived; throws if one of them raises. Null without an interpreter.
extern void (*run_signal_handlers)();

namespace detail {
void poll_signals();
}
inline void poll_signals() {
  if (run_signal_handlers) detail::poll_signals();
}
// Work that may be long begins here, on this thread: the interval of poll_signals starts again.
void begin_signal_interval();
// True on the thread whose poll_signals may throw.
bool polls_signals();

}  // namespace undertow
