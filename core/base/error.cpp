// error.cpp: throwing and warning, out of line so that checks stay small at their call sites.
// build: small
#include "core/base/error.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/warn_always.h"

namespace undertow::core {

void append_text(std::string& out, std::string_view text) { out += text; }
void append_text(std::string& out, char c) { out += c; }
void append_integer(std::string& out, int64_t value) { out += std::to_string(value); }
void append_unsigned(std::string& out, uint64_t value) { out += std::to_string(value); }
void append_text(std::string& out, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  out += text;
}
void append_text(std::string& out, std::complex<double> value) {
  out += str('(', value.real(), ',', value.imag(), ')');
}

void throw_error(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }

void assert_failed(const char* condition, const char* file, int line, const std::string& facts) {
  throw Error(ErrorKind::Runtime, str("internal error in Undertow (please report it): ", condition,
                                      " does not hold at ", file, ":", line, facts.empty() ? "" : "; ", facts));
}

namespace {
void print_warning(const std::string& message) { std::fprintf(stderr, "UserWarning: %s\n", message.c_str()); }
WarningSink warning_sink = print_warning;
std::atomic<bool> always = false;  // atomic: any thread may warn while another changes the setting
}  // namespace

void set_warn_always(bool on) { always = on; }
WarningSink set_warning_sink(WarningSink sink) { return std::exchange(warning_sink, sink ? sink : print_warning); }
// The sink may throw: Python can turn a warning into an error.
void warn(const std::string& message) { warning_sink(message); }
void warn_once(const char* message) {
  static std::mutex mutex;  // guards `said`; not held while the warning is issued
  static std::set<std::string> said;
  {
    std::lock_guard lock(mutex);
    if (!said.insert(message).second && !always) return;
  }
  warn(message);
}

}  // namespace undertow::core
