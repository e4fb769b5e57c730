// type_name.h: the name of a C++ class as its author wrote it, for the names of nodes and modules and for messages.
#pragma once
#include <string>
#include <typeinfo>

namespace undertow::detail {

// "ns::Square" for typeid(ns::Square).
std::string type_name(const std::type_info& type);

}  // namespace undertow::detail
