// build_info.h: how this library was built: compiler, flags, instruction sets. CMake writes the definition.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace undertow::core {

struct BuildInfo {
  std::string version;
  std::string compiler;                                           // "GNU 12.2.0"
  std::string build_type;                                         // "Release"
  std::string flags;                                              // for every source file
  std::vector<std::pair<std::string, std::string>> kernel_flags;  // (instruction set, its flags), best last
  std::string system;                                             // "Linux x86_64"
  std::string sanitizers;                                         // "address,undefined"; empty for none
};
const BuildInfo& build_info();

// The instruction set that the kernels use on this CPU: one of the names in kernel_flags. Defined in kernels/cpu.
const char* instruction_set();

}  // namespace undertow::core
