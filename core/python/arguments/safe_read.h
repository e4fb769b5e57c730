// safe_read.h: reads the caller's sequences and strings safely: sequences that change, contain themselves, or are no
// text.
#pragma once
#include <string>
#include <string_view>

#include "core/python/errors.h"

namespace undertow::core::python {

// The items of any iterable as a tuple, so that code which runs between them cannot change it: a number may have an
// __index__ that shortens the list it is read from. Raises TypeError with this message for what is not iterable.
PyRef snapshot(PyObject* sequence, const char* message);

// The UTF-8 text of a string, valid as long as the string. Raises UnicodeEncodeError if there is none: a str may hold
// half of a surrogate pair.
std::string_view utf8(PyObject* string);
// The same for a message, with such halves as \udXXX.
std::string shown(PyObject* string);

// One level of a recursion over the caller's objects, which may contain themselves. Raises RecursionError if there are
// too many; `where` begins with a space.
class RecursionLevel {
 public:
  explicit RecursionLevel(const char* where) {
    if (Py_EnterRecursiveCall(where)) throw PythonError();
  }
  ~RecursionLevel() { Py_LeaveRecursiveCall(); }
  RecursionLevel(const RecursionLevel&) = delete;
  RecursionLevel& operator=(const RecursionLevel&) = delete;
};

}  // namespace undertow::core::python
