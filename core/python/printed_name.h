// printed_name.h: the package name in front of printed types and dtypes: "undertow", or "torch" for a program that runs
// under as_torch.
#pragma once

namespace undertow::core::python {

const char* printed_package();

}  // namespace undertow::core::python
