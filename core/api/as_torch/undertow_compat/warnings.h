// warnings.h: TORCH_WARN, and torch's way to receive warnings in a program: a WarningHandler.
#pragma once
#include <undertow_compat/errors.h>

#include <atomic>

namespace undertow {

class Warning {
 public:
  explicit Warning(std::string message) : message_(std::move(message)) {}
  const std::string& msg() const { return message_; }

 private:
  std::string message_;
};

// This class passes warnings on to where they went before the program set a handler: standard error, or Python.
class WarningHandler {
 public:
  virtual ~WarningHandler() = default;
  inline virtual void process(const Warning& warning);
};

namespace detail {
struct WarningState {
  WarningHandler initial;
  std::atomic<WarningHandler*> current{&initial};  // read on every thread that warns
  core::WarningSink before = core::set_warning_sink(
      [](const std::string& message) { warning_state().current.load()->process(Warning(message)); });
  static WarningState& warning_state() {
    static WarningState state;
    return state;
  }
};
}  // namespace detail
void WarningHandler::process(const Warning& warning) { detail::WarningState::warning_state().before(warning.msg()); }

namespace WarningUtils {
inline WarningHandler* get_warning_handler() { return detail::WarningState::warning_state().current; }
// The handler of all threads, until the next call; null is the initial one.
inline void set_warning_handler(WarningHandler* handler) {
  auto& state = detail::WarningState::warning_state();
  state.current = handler ? handler : &state.initial;
}
}  // namespace WarningUtils

}  // namespace undertow

#define TORCH_WARN(...) ::undertow::core::warn(::undertow::str(__VA_ARGS__))
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) TORCH_WARN(__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                    \
  do {                                                          \
    static const bool warned = (TORCH_WARN(__VA_ARGS__), true); \
    (void)warned;                                               \
  } while (false)
