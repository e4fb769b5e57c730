// errors.h: TORCH_CHECK, AT_ASSERT and their relatives.
#pragma once
#include <undertow/undertow.h>

#include <sstream>

namespace undertow {

namespace detail {
struct MessageStream {
  std::ostringstream out;
  template <class... A>
  std::string of(const A&... a) {
    (out << ... << a);
    return out.str();
  }
};
}  // namespace detail
// The arguments, printed one after the other.
template <class... A>
std::string str(const A&... a) {
  return detail::MessageStream().of(a...);
}
namespace detail {
template <class... A>
[[noreturn]] void check_failed(core::ErrorKind kind, const char* condition, const A&... a) {
  if constexpr (sizeof...(A) == 0)
    core::throw_error(kind, std::string("Expected ") + condition + " to be true, but got false.");
  else
    core::throw_error(kind, ::undertow::str(a...));
}
}  // namespace detail

// Errors that become another Python exception than RuntimeError.
#define UT_TORCH_ERROR(Name, KIND)                                                           \
  struct Name : core::Error {                                                                \
    explicit Name(std::string message) : Error(core::ErrorKind::KIND, std::move(message)) {} \
  }
UT_TORCH_ERROR(IndexError, Index);
UT_TORCH_ERROR(ValueError, Value);
UT_TORCH_ERROR(TypeError, Type);
UT_TORCH_ERROR(NotImplementedError, NotImplemented);
#undef UT_TORCH_ERROR

}  // namespace undertow

// No `do {} while (false)` around it: as in torch, no semicolon is needed after it, and extensions leave it out.
#define UT_TORCH_CHECK(KIND, cond, ...)                                                                    \
  if (!(cond)) [[unlikely]] {                                                                              \
    ::undertow::detail::check_failed(::undertow::core::ErrorKind::KIND, #cond __VA_OPT__(, ) __VA_ARGS__); \
  }
#define TORCH_CHECK(cond, ...) UT_TORCH_CHECK(Runtime, cond, __VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) UT_TORCH_CHECK(Index, cond, __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) UT_TORCH_CHECK(Value, cond, __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) UT_TORCH_CHECK(Type, cond, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) UT_TORCH_CHECK(NotImplemented, cond, __VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) UT_TORCH_CHECK(LinAlg, cond, __VA_ARGS__)
#define TORCH_CHECK_WITH(error, cond, ...)                 \
  if (!(cond)) [[unlikely]] {                              \
    throw ::undertow::error(::undertow::str(__VA_ARGS__)); \
  }
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b), "Check failed: " #a " == " #b " (", (a), " vs. ", (b), ")")
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b), "Check failed: " #a " != " #b " (", (a), " vs. ", (b), ")")
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b), "Check failed: " #a " < " #b " (", (a), " vs. ", (b), ")")
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b), "Check failed: " #a " <= " #b " (", (a), " vs. ", (b), ")")
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b), "Check failed: " #a " > " #b " (", (a), " vs. ", (b), ")")
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b), "Check failed: " #a " >= " #b " (", (a), " vs. ", (b), ")")
#define TORCH_INTERNAL_ASSERT(cond, ...) TORCH_CHECK(cond, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) ((void)sizeof(!(cond)))
#define AT_CHECK(cond, ...) TORCH_CHECK(cond, __VA_ARGS__)
#define AT_ASSERT(cond, ...) TORCH_CHECK(cond, __VA_ARGS__)
#define AT_ASSERTM(cond, ...) TORCH_CHECK(cond, __VA_ARGS__)
#define AT_ERROR(...) \
  ::undertow::detail::check_failed(::undertow::core::ErrorKind::Runtime, "", ::undertow::str(__VA_ARGS__))
#define C10_THROW_ERROR(error, message) throw ::undertow::error(message)
