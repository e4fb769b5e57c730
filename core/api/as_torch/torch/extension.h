// extension.h: torch's C++ API and its Python bindings, for an extension.
#pragma once
#include <torch/all.h>

#include <undertow_compat/python.h>
