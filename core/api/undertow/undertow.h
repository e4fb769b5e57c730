// undertow.h: the C++ API, namespace undertow. Includes everything that a program needs.
#pragma once
#include <undertow/autograd.h>
#include <undertow/functions.h>
#include <undertow/serialize.h>
#include <undertow/tensor.h>
#include <undertow/tensor/accessor.h>
#include <undertow/tensor/composites.h>
#include <undertow/tensor/indexing.h>
#include <undertow/tensor/print.h>
#include <undertow/types/options.h>
