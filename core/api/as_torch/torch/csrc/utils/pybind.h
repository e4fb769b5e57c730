// pybind.h: see torch/extension.h.
#pragma once
#include <torch/extension.h>
