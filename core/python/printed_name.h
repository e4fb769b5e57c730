// printed_name.h: the package whose name types and dtypes print before their own: "undertow", or "torch" for a program
// that believes so.
#pragma once

namespace undertow::python {

const char* printed_package();

}  // namespace undertow::python
