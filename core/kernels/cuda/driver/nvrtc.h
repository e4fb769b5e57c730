// nvrtc.h: NVIDIA's run-time compiler, opened at run time. Turns CUDA C++ text into machine code for one GPU.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace undertow::core::cuda {

struct CompiledProgram {
  std::string image;               // a cubin
  std::vector<std::string> names;  // of the functions asked for, as the image spells them
};
// `functions`: expressions that name the wanted instances, "fold<float, 2>". Raises with the compiler's messages.
CompiledProgram compile_program(const std::string& text, std::span<const std::string> functions, int capability);
// The compiler's version, which is part of the key of every cached image.
std::pair<int, int> compiler_version();

}  // namespace undertow::core::cuda
