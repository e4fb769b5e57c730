// embedded_headers.cpp: the assembler reads the headers. Each one says its own path when it is included here, so no
// build system has to.
#include "embedded_headers.h"

#define EMBED_HEADER_TEXT(name, path)   \
  asm(".pushsection .rodata\n"          \
      ".hidden emulator_text_of_" #name \
      "\n"                              \
      ".globl emulator_text_of_" #name  \
      "\n"                              \
      "emulator_text_of_" #name         \
      ":\n"                             \
      ".incbin \"" path                 \
      "\"\n"                            \
      ".byte 0\n"                       \
      ".popsection");                   \
  extern "C" const char emulator_text_of_##name[];
#include "cuda_on_host.h"
#include "cuda_on_host_math.h"
#include "cuda_on_host_warp.h"
#include "device_interface.h"

namespace emulator {

const EmbeddedHeader kEmbeddedHeaders[4] = {{"cuda_on_host.h", emulator_text_of_cuda_on_host},
                                            {"cuda_on_host_math.h", emulator_text_of_cuda_on_host_math},
                                            {"cuda_on_host_warp.h", emulator_text_of_cuda_on_host_warp},
                                            {"device_interface.h", emulator_text_of_device_interface}};

}  // namespace emulator
