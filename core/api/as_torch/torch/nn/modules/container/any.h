// any.h: see torch/all.h.
#pragma once
#include <torch/all.h>
