// Operators.h: see torch/types.h.
#pragma once
#include <torch/types.h>
