// extension.h: everything for an extension of Python: the C++ API, operators by name, and pybind11 with our casters.
#pragma once
#include <undertow/undertow.h>

#include <undertow/autograd.h>
#include <undertow/autograd/function.h>
#include <undertow/library.h>
#include <undertow/parallel.h>
#include <undertow/pybind11.h>
