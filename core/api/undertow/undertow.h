// undertow.h: the C++ API, namespace undertow. Includes everything that a program needs.
#pragma once
#include <undertow/autograd.h>
#include <undertow/functions.h>
#include <undertow/options.h>
#include <undertow/tensor.h>
