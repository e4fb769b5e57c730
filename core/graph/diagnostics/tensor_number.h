// tensor_number.h: a number that identifies a tensor as long as it lives; no other tensor ever gets it.
#pragma once
#include <cstdint>

#include "core/tensor/tensor.h"

namespace undertow::core::provenance {

// It is the number of the tensor's provenance record, which is made here if there is none. A leaf that requires grad
// keeps it through writes; another tensor gets a new one when an operation computes it anew.
uint64_t number_of(TensorImpl* t);

}  // namespace undertow::core::provenance
