// all.h: torch's C++ API, which is Undertow's.
#pragma once
#include <torch/types.h>

#include <undertow/archive.h>
#include <undertow/data.h>
#include <undertow/fft.h>
#include <undertow/nn.h>
#include <undertow/optim.h>
#include <undertow/signal.h>

#include <undertow_compat/families.h>
#include <undertow_compat/nn_functions.h>
#include <undertow_compat/streams.h>

#define TORCH_MODULE(Name) UNDERTOW_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, Impl) UNDERTOW_MODULE_IMPL(Name, Impl)
#define FORWARD_HAS_DEFAULT_ARGS(...) UNDERTOW_FORWARD_HAS_DEFAULT_ARGS(__VA_ARGS__)
#define TORCH_ARG(T, name) UNDERTOW_ARG(T, name)
