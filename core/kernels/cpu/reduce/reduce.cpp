// reduce.cpp: the choice of folding and finding kernels.
#include "core/kernels/cpu/reduce/reduce_index.h"
#include "core/kernels/cpu/reduce/reduce_kernels.h"

namespace undertow::cpu {

FindFn find_fn(DType t) { return UNDERTOW_CHOOSE_ISA(find_for(t)); }

FoldFn fold_fn(Fold op, DType in) {
  if (op < Fold::Any && is_floating(in)) return UNDERTOW_CHOOSE_ISA(real_fold(op, in));
  return UNDERTOW_CHOOSE_ISA(int_fold(op, in));
}

}  // namespace undertow::cpu
