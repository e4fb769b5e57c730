// types.h: torch's names for tensors, dtypes and devices, and its macros.
#pragma once
#include <undertow_compat/autograd.h>
#include <undertow_compat/cuda.h>
#include <undertow_compat/dispatch.h>
#include <undertow_compat/library.h>
#include <undertow_compat/macros.h>
#include <undertow_compat/names.h>
#include <undertow_compat/parallel.h>
#include <undertow_compat/util.h>
#include <undertow_compat/warnings.h>
