// sources.h: the device sources (*.cuh) of this library as text, embedded by tools/embed_cuda.py.
#pragma once
#include <span>

namespace undertow::core::cuda {

struct DeviceSource {
  const char* name;  // as an #include spells it: "reduce/fold.cuh"
  const char* text;
};
std::span<const DeviceSource> device_sources();
// Changes whenever a source changes: part of the key of cached images.
extern const char* const kSourcesDigest;

}  // namespace undertow::core::cuda
