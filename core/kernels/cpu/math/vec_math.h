// vec_math.h: the elementary functions as plain scalar code that a compiler can vectorise.
// One include for every vec_math_*.h; knows nothing about tensors, threads or instruction sets.
//
// Note [Branch-Free Math]
// A loop `for (i) out[i] = vm::exp(in[i]);` vectorises with
//   -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast
// because nothing below branches, calls a library function (unless its comment says so), converts between 64-bit
// integers and double (AVX2 cannot), or shifts 64-bit integers right arithmetically (AVX2 cannot do that either). Both
// sides of a selection are computed, so each side must be harmless on any input. The code relies on exact rounding
// order: never compile it with -ffast-math or -fassociative-math. Polynomials are our own weighted minimax fits; the
// measured error limits are in tests/cpp/test_vec_math.cpp.
#pragma once

#include "vec_math_arc.h"
#include "vec_math_base.h"
#include "vec_math_erf.h"
#include "vec_math_erfinv.h"
#include "vec_math_exp.h"
#include "vec_math_fmod.h"
#include "vec_math_log.h"
#include "vec_math_pow.h"
#include "vec_math_trig.h"
