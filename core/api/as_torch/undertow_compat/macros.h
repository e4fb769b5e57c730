// macros.h: torch's macros for compilers, and its version.
#pragma once

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 13
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.13.0"

#define C10_EXPORT __attribute__((visibility("default")))
#define C10_IMPORT C10_EXPORT
#define C10_HIDDEN __attribute__((visibility("hidden")))
#define C10_API C10_EXPORT
#define TORCH_API C10_EXPORT
#define TORCH_PYTHON_API C10_EXPORT
#define AT_API C10_EXPORT
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_ALWAYS_INLINE __attribute__((always_inline)) inline
#define C10_NOINLINE __attribute__((noinline))
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_FALLTHROUGH [[fallthrough]]
#define C10_RESTRICT __restrict
#define C10_HOST_DEVICE
#define C10_HOST
#define C10_DEVICE
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(text) C10_CONCATENATE(text, __COUNTER__)
#define C10_DISABLE_COPY_AND_ASSIGN(name) \
  name(const name&) = delete;             \
  name& operator=(const name&) = delete
#define AT_DISALLOW_COPY_AND_ASSIGN(name) C10_DISABLE_COPY_AND_ASSIGN(name)
