// all.h: torch's C++ API, which is Undertow's.
#pragma once
#include <torch/types.h>
#if __has_include(<undertow/nn.h>)
#include <undertow/nn.h>
#endif
#if __has_include(<undertow/optim.h>)
#include <undertow/optim.h>
#endif
