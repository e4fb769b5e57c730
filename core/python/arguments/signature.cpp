// signature.cpp: see signature.h.
#include "core/python/arguments/signature.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/python/errors.h"

namespace undertow::core::python {

namespace {

constexpr std::pair<std::string_view, ArgKind> kKinds[] = {{"Tensor", ArgKind::Tensor},
                                                           {"Tensor?", ArgKind::OptTensor},
                                                           {"Tensor[]", ArgKind::TensorList},
                                                           {"Tensor?[]", ArgKind::OptTensorList},
                                                           {"Scalar", ArgKind::Scalar},
                                                           {"Scalar?", ArgKind::OptScalar},
                                                           {"int", ArgKind::Int},
                                                           {"int?", ArgKind::OptInt},
                                                           {"float", ArgKind::Float},
                                                           {"float?", ArgKind::OptFloat},
                                                           {"bool", ArgKind::Bool},
                                                           {"bool?", ArgKind::OptBool},
                                                           {"true", ArgKind::True},
                                                           {"false", ArgKind::False},
                                                           {"int[]", ArgKind::Ints},
                                                           {"int[]?", ArgKind::OptInts},
                                                           {"int[1]", ArgKind::SizedInts},
                                                           {"int[2]", ArgKind::SizedInts},
                                                           {"int[3]", ArgKind::SizedInts},
                                                           {"int[1]?", ArgKind::OptSizedInts},
                                                           {"int[2]?", ArgKind::OptSizedInts},
                                                           {"int[3]?", ArgKind::OptSizedInts},
                                                           {"dtype", ArgKind::DType},
                                                           {"dtype?", ArgKind::OptDType},
                                                           {"str", ArgKind::Str},
                                                           {"str?", ArgKind::OptStr},
                                                           {"Generator?", ArgKind::Generator},
                                                           {"device?", ArgKind::Device},
                                                           {"memory_format?", ArgKind::MemoryFormat},
                                                           {"layout?", ArgKind::Layout}};

ArgKind kind_of(std::string_view type, std::string_view name, std::string_view default_value) {
  if (type == "Tensor[]" && name == "out") return ArgKind::OutList;
  if (type == "int[1]" && default_value == "[]")
    return ArgKind::OptSizedInts;  // None means the empty list, as in torch
  const auto* found = std::ranges::find(kKinds, type, &std::pair<std::string_view, ArgKind>::first);
  UT_ASSERT(found != std::end(kKinds), "no kind of argument is called ", type);
  return found->second;
}

// The length of the parameter at the start of `text`. Lists in default values may contain commas.
size_t length_of_first(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '[') depth++;
    if (text[i] == ']') depth--;
    if (text[i] == ',' && depth == 0) return i;
  }
  return text.size();
}

// Whether torch accepts `key` for the argument `name`: NumPy's names, and older names of its own.
bool is_other_name(std::string_view name, PyObject* key) {
  static constexpr std::pair<std::string_view, const char*> kOtherNames[] = {{"dim", "axis"},
                                                                             {"keepdim", "keepdims"},
                                                                             {"self", "input"},
                                                                             {"self", "x"},
                                                                             {"self", "a"},
                                                                             {"self", "x1"},
                                                                             {"self", "tensor"},
                                                                             {"input", "x"},
                                                                             {"input", "a"},
                                                                             {"input", "x1"},
                                                                             {"other", "x2"},
                                                                             {"split_size", "split_size_or_sections"},
                                                                             {"indices", "indices_or_sections"},
                                                                             {"sections", "indices_or_sections"}};
  return std::any_of(std::begin(kOtherNames), std::end(kOtherNames), [&](const auto& other) {
    return other.first == name && PyUnicode_CompareWithASCIIString(key, other.second) == 0;
  });
}

}  // namespace

std::vector<ArgSpec> parse_signature(std::string_view text) {
  std::vector<ArgSpec> out;
  bool kwonly = false;
  text = text.substr(1, text.size() - 2);  // without the parentheses
  while (!text.empty()) {
    const std::string_view parameter = text.substr(0, length_of_first(text));
    text.remove_prefix(std::min(text.size(), parameter.size() + 2));  // and ", "
    if (parameter == "*") {
      kwonly = true;
      continue;
    }
    const size_t space = parameter.find(' '), equals = parameter.find('=');
    const bool has_default = equals != std::string_view::npos;
    const std::string name(parameter.substr(space + 1, has_default ? equals - space - 1 : equals));
    const std::string_view default_value = has_default ? parameter.substr(equals + 1) : std::string_view();
    PyObject* interned = check(PyUnicode_InternFromString(name.c_str()));
    const char* characters = PyUnicode_AsUTF8(interned);
    if (!characters) throw PythonError();
    out.push_back({interned, characters, kind_of(parameter.substr(0, space), name, default_value), has_default, kwonly,
                   default_value});
  }
  return out;
}

int find_argument(std::span<const ArgSpec> arguments, PyObject* key) {
  auto where = [&](auto&& is_it) {
    const auto found = std::ranges::find_if(arguments, is_it);
    return found == arguments.end() ? -1 : static_cast<int>(found - arguments.begin());
  };
  int at = where([&](const ArgSpec& a) { return a.interned == key; });
  if (at < 0) at = where([&](const ArgSpec& a) { return PyUnicode_Compare(a.interned, key) == 0; });
  if (at < 0) at = where([&](const ArgSpec& a) { return is_other_name(a.name, key); });
  return at;
}

}  // namespace undertow::core::python
