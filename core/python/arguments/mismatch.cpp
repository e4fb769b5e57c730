// mismatch.cpp: see mismatch.h.
#include "core/python/arguments/mismatch.h"

#include <algorithm>
#include <string_view>

#include "core/base/error.h"
#include "core/python/arguments/accepts.h"
#include "core/python/arguments/safe_read.h"

namespace undertow::core::python {

namespace {

// The arguments of an overload that a call may pass: not the tensor of a method, and no `out` there.
std::vector<ArgSpec> visible(const Overload& o, PyObject* self) {
  std::vector<ArgSpec> arguments;
  for (int i = self ? 1 : 0; i < o.count; i++)
    if (!self || !o.args[i].is_out()) arguments.push_back(o.args[i]);
  return arguments;
}

std::string shown_default(const ArgSpec& a) {
  std::string_view text = a.default_value;
  if (text == "[]") return "None";
  if (text.starts_with('[') && text.find(',') == text.npos) text = text.substr(1, text.size() - 2);  // [1]: 1 for all
  return std::string(text);
}

std::string shown_overload(const std::vector<ArgSpec>& arguments, PyObject* self) {
  std::string text;
  bool keywords = false;
  for (const ArgSpec& a : arguments) {
    if (!text.empty()) text += ", ";
    if (a.kwonly && !keywords) text += "*, ";
    keywords = a.kwonly;
    text += str(kind_text(a.kind), " ", shown_name(a, self));
    if (a.has_default) text += str(" = ", shown_default(a));
  }
  return "(" + text + ")";
}

// Whether `o` is an earlier overload with a number as `other`, as add(Tensor, Scalar) is: messages show such forms
// once.
bool is_number_form(const Function& f, const Overload& o) {
  auto same = [](const ArgSpec& a, const ArgSpec& b) {
    const bool number = a.kind == ArgKind::Tensor && b.kind == ArgKind::Scalar && std::string_view(b.name) == "other";
    return a.interned == b.interned && (a.kind == b.kind || number);
  };
  return std::any_of(static_cast<const Overload*>(f.overloads), &o, [&](const Overload& earlier) {
    return std::equal(earlier.args, earlier.args + earlier.count, o.args, o.args + o.count, same);
  });
}

bool is_shown(const Function& f, const Overload& o, PyObject* self) {
  return (self || !o.method_only) && !is_number_form(f, o);
}

// The arguments of the call in order: their keyword (null for a position), and their value.
struct Given {
  PyObject* key;
  PyObject* value;
};
std::vector<Given> given_arguments(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  std::vector<Given> given;
  for (Py_ssize_t i = 0; i < nargs; i++) given.push_back({nullptr, args[i]});
  const Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < nkw; k++) given.push_back({PyTuple_GET_ITEM(kwnames, k), args[nargs + k]});
  return given;
}

std::string shown_given(const Given& g) { return str(g.key ? shown(g.key) + "=" : std::string(), shown_type(g.value)); }

// Why an overload that takes this number of arguments did not fit: its unknown keywords, else the types that are wrong.
std::string reason(const std::vector<ArgSpec>& arguments, const std::vector<Given>& given) {
  std::string unknown, types;
  for (size_t i = 0; i < given.size(); i++) {
    const Given& g = given[i];
    const int at = g.key ? find_argument(arguments, g.key) : static_cast<int>(i);
    if (at < 0) {
      unknown += str(unknown.empty() ? "" : ", ", shown(g.key));
      continue;
    }
    const char* mark = accepts(arguments[static_cast<size_t>(at)], g.value) ? "" : "!";
    types += str(types.empty() ? "" : ", ", mark, shown_given(g), mark);
  }
  if (!unknown.empty()) return "some of the keywords were incorrect: " + unknown;
  return "some of the arguments have invalid types: (" + types + ")";
}

}  // namespace

const char* shown_name(const ArgSpec& argument, PyObject* self) {
  return !self && std::string_view(argument.name) == "self" ? "input" : argument.name;
}

std::string_view shown_type(PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name;
  return is_tensor(o) ? name.substr(name.rfind('.') + 1) : name;
}

std::string missing_arguments(const Overload& o, PyObject* self, PyObject* const* slots) {
  std::string names;
  int count = 0;
  for (int i = 0; i < o.count; i++) {
    if (slots[i] || o.args[i].has_default) continue;
    names += str(count++ ? ", " : "", '"', shown_name(o.args[i], self), '"');
  }
  // The plural is torch's.
  return str("() missing ", count, " required positional argument", count == 1 ? "s" : "", ": ", names);
}

const Overload* overload_meant(const Function& f, PyObject* self, Py_ssize_t arguments) {
  const Overload *fits = nullptr, *last = nullptr;
  int fitting = 0, candidates = 0;
  for (int k = 0; k < f.count; k++) {
    const Overload& o = f.overloads[k];
    if (!is_shown(f, o, self)) continue;
    candidates++;
    last = &o;
    Py_ssize_t most = 0, least = 0;
    for (const ArgSpec& a : visible(o, self)) {
      most++;
      least += !a.has_default;
    }
    if (arguments < least || arguments > most) continue;
    fitting++;
    fits = &o;
  }
  return candidates == 1 ? last : fitting == 1 ? fits : nullptr;
}

std::string invalid_combination(const Function& f, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                PyObject* kwnames) {
  const std::vector<Given> given = given_arguments(args, nargs, kwnames);
  std::string got, overloads;
  bool with_out = false;
  for (const Given& g : given) {
    got += str(got.empty() ? "" : ", ", shown_given(g));
    with_out |= g.key && PyUnicode_CompareWithASCIIString(g.key, "out") == 0;
  }
  for (int k = 0; k < f.count; k++) {
    const Overload& o = f.overloads[k];
    if (!is_shown(f, o, self)) continue;
    const std::vector<ArgSpec> arguments = visible(o, self);
    overloads += str(" * ", shown_overload(arguments, self), "\n");
    size_t count = arguments.size();
    for (const ArgSpec& a : arguments) count -= a.is_out() && !with_out;
    if (given.size() == count) overloads += str("      didn't match because ", reason(arguments, given), "\n");
  }
  return str("received an invalid combination of arguments - got (", got, "), but expected one of:\n", overloads);
}

}  // namespace undertow::core::python
