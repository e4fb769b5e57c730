// embedded_headers.h: the texts of the headers that kernels are compiled with, which the library carries in itself.
#pragma once
#include <string_view>

namespace emulator {

struct EmbeddedHeader {
  const char* name;
  std::string_view text;
};
extern const EmbeddedHeader kEmbeddedHeaders[4];

}  // namespace emulator
