// undertow.h: the C++ API, namespace undertow. Includes everything that a program needs.
#pragma once
#include <undertow/accessor.h>
#include <undertow/autograd.h>
#include <undertow/composites.h>
#include <undertow/functions.h>
#include <undertow/indexing.h>
#include <undertow/options.h>
#include <undertow/print.h>
#include <undertow/serialize.h>
#include <undertow/tensor.h>
