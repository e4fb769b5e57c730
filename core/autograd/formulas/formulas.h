// formulas.h: everything a table's formula may call besides operators. Bodies stand beside the headers, by family.
#pragma once
#include "core/autograd/formulas/common.h"
#include "core/autograd/formulas/indexing.h"
#include "core/autograd/formulas/linalg.h"
#include "core/autograd/formulas/loss.h"
#include "core/autograd/formulas/moments.h"
#include "core/autograd/formulas/pointwise.h"
#include "core/autograd/formulas/reduce.h"
#include "core/autograd/formulas/scan.h"
#include "core/autograd/formulas/shape.h"
#include "core/autograd/formulas/solve.h"
#include "core/autograd/formulas/spectral.h"
#include "generated/ops.h"
