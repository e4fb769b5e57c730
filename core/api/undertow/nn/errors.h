// errors.h: the errors and names of the templates of nn, which are formatted in compiled code: a header that formats
// no message compiles faster.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <typeinfo>

namespace undertow::nn::detail {

[[noreturn]] void raise_no_key(const std::string& what, const std::string& key);
[[noreturn]] void raise_key_defined(const std::string& what, const std::string& key);
[[noreturn]] void raise_index(int64_t index, std::size_t size);
[[noreturn]] void raise_empty_holder();
[[noreturn]] void raise_no_elements(const char* operation, const char* container);
[[noreturn]] void raise_argument_type(std::size_t index, const std::type_info& expected, const std::type_info& got);
[[noreturn]] void raise_argument_count(const std::string& module, std::size_t expected, std::size_t got);
[[noreturn]] void raise_cast(const char* operation, const std::type_info& expected, const std::type_info& got);
[[noreturn]] void raise_return_type(const std::type_info& expected, const std::type_info& got);
[[noreturn]] void raise_expanding(std::size_t expected, std::size_t got);

// "undertow::nn::ReLU" for the class name "undertow::nn::ReLUImpl".
std::string printed_name(const std::string& class_name);

}  // namespace undertow::nn::detail
