// signals.h: lets long work notice that the user wants it to stop (Ctrl-C), without knowing the interpreter.
// The binding layer installs the function. Without it, everything here does nothing.
#pragma once
#include <cstdint>

namespace undertow::core {

// Note [Signals In Long Work]
// An interpreter runs its signal handlers between two of its own instructions, on its main thread. Work that stays in
// C++ for long asks now and then: the engine between nodes, parallel_for between chunks, the longest loops of single
// kernels. On the main thread this runs the pending handlers every kSignalInterval. A handler that raises
// (KeyboardInterrupt) ends the work by an exception, like any other error: results that were being computed are lost,
// what was written in place is partly written, and a graph can be used again as after any error. Other threads do not
// ask; they finish the chunks that they have begun.
// Inside a kernel, scratch memory and the lock of a random generator may be in use, so no handler may run that could
// call an operator. There, handlers run only if all of them just raise, as Python's own for Ctrl-C does.
// Asking is limited by time because it takes the interpreter's lock, for which another thread may have to be waited
// for. Reading a coarse clock costs some nanoseconds, and no chunk or group of nodes is that short.
inline constexpr int64_t kSignalInterval = 40'000'000;  // nanoseconds

enum class Polls { BetweenNodes, InsideKernel };

// The engine's loops over nodes call poll_signals() this often.
inline constexpr uint32_t kNodesPerPoll = 32;

// Runs the handlers of signals that have arrived; throws if one of them raises. Null without an interpreter.
extern void (*run_signal_handlers)(Polls where);

void poll_signals(Polls where = Polls::InsideKernel);
// Calls f(begin, end) for parts of a long sequential loop, and polls between them.
template <class F>
void in_polled_parts(int64_t n, F&& f) {
  constexpr int64_t kPart = int64_t{1} << 18;
  for (int64_t at = 0; at < n; at += kPart) {
    if (at) poll_signals();
    f(at, n - at < kPart ? n : at + kPart);
  }
}
// Work that may be long begins here, on this thread: the interval of poll_signals starts again.
void begin_signal_interval();
// True on the thread whose poll_signals may throw.
bool polls_signals();

}  // namespace undertow::core
