// error.h: two kinds of failure: a user's mistake (UT_CHECK*) and our own bug (UT_ASSERT).
// Lists the kinds of Python exception, but does not know how Python raises them.
#pragma once
#include <complex>
#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace undertow::core {

enum class ErrorKind {
  Runtime,
  Type,
  Value,
  Index,
  NotImplemented,
  Key,
  Overflow,
  OutOfMemory,
  Attribute,
  LinAlg,
  Accelerator
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }
  const char* what_without_backtrace() const noexcept { return what(); }  // libtorch's name; what() has no backtrace

 private:
  ErrorKind kind_;
  std::string message_;
};

// append_text writes a value as messages show it. A type that messages show has its own overload beside it.
void append_text(std::string& out, std::string_view text);
void append_text(std::string& out, double value);  // six digits
void append_text(std::string& out, std::complex<double> value);
void append_text(std::string& out, char c);
void append_integer(std::string& out, int64_t value);
void append_unsigned(std::string& out, uint64_t value);
template <std::integral T>
void append_text(std::string& out, T value) {
  if constexpr (std::signed_integral<T>)
    append_integer(out, value);
  else
    append_unsigned(out, value);
}

// Formats its arguments into one string. Not with iostreams: they make every check larger, and fail if a compiler links
// libstdc++ statically into two libraries that share them.
template <class... Args>
std::string str(const Args&... args) {
  std::string out;
  (append_text(out, args), ...);
  return out;
}

[[noreturn]] void throw_error(ErrorKind kind, std::string message);
[[noreturn]] void assert_failed(const char* condition, const char* file, int line, const std::string& facts);

// Warnings go to a sink that the binding layer installs (Python's warnings), otherwise to stderr.
using WarningSink = void (*)(const std::string& message);
WarningSink set_warning_sink(WarningSink sink);  // returns the one before
void warn(const std::string& message);
void warn_once(const char* message);  // warns about the same text at most once per process

}  // namespace undertow::core

#define UT_UNLIKELY(x) __builtin_expect(!!(x), 0)
// For the few small functions that run in every recorded operation, where a call costs more than the body. Files
// compiled for size (-Os) call them instead.
#if defined(__OPTIMIZE_SIZE__)
#define UT_HOT_INLINE inline
#else
#define UT_HOT_INLINE inline __attribute__((always_inline))
#endif
#define UT_LIKELY(x) __builtin_expect(!!(x), 1)

#define UT_FAIL_AS(kind, ...) \
  ::undertow::core::throw_error(::undertow::core::ErrorKind::kind, ::undertow::core::str(__VA_ARGS__))
#define UT_FAIL(...) UT_FAIL_AS(Runtime, __VA_ARGS__)
#define UT_CHECK_AS(kind, condition, ...)                         \
  do {                                                            \
    if (UT_UNLIKELY(!(condition))) UT_FAIL_AS(kind, __VA_ARGS__); \
  } while (0)
#define UT_CHECK(condition, ...) UT_CHECK_AS(Runtime, condition, __VA_ARGS__)
#define UT_CHECK_TYPE(condition, ...) UT_CHECK_AS(Type, condition, __VA_ARGS__)
#define UT_CHECK_VALUE(condition, ...) UT_CHECK_AS(Value, condition, __VA_ARGS__)
#define UT_CHECK_INDEX(condition, ...) UT_CHECK_AS(Index, condition, __VA_ARGS__)

// Checks our own invariants: a failure is a bug in Undertow, and the message says so.
#define UT_ASSERT(condition, ...)                                                                             \
  do {                                                                                                        \
    if (UT_UNLIKELY(!(condition)))                                                                            \
      ::undertow::core::assert_failed(#condition, __FILE__, __LINE__, ::undertow::core::str("" __VA_ARGS__)); \
  } while (0)
