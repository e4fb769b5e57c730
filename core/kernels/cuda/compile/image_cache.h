// image_cache.h: compiled kernels on disk, and in the driver once loaded.
#pragma once
#include <string>

#include "core/kernels/cuda/driver/driver_types.h"

namespace undertow::core::cuda {

// The function that `expression` names in the program `text`, compiled for the device, or read from the cache.
CUfunction load_function(const std::string& text, const std::string& expression, int device);
// What was kept under a key, by this process or an earlier one. The key says everything that decides the content.
struct CachedImage {
  std::string function, code;  // the name of the function in the code, where it has one
};
bool find_image(const std::string& key, CachedImage& image);
void keep_image(const std::string& key, const CachedImage& image);
// The folder of the cache: UNDERTOW_CUDA_CACHE, or undertow/cuda in the user's cache folder; empty if it is turned off.
std::string image_cache_folder();

}  // namespace undertow::core::cuda
