// positions.h: sorts and selects by unsigned keys. Stable: equal keys stay in the order of their positions.
// Knows keys and positions; not elements, tensors or threads.
#pragma once

#include <cstdint>

namespace undertow::core::cpu {

// Converts floats to keys of the same order, NaN last, each xored with `flip`.
void float_keys(const float* from, int64_t n, uint32_t flip, uint32_t* keys);

// order[r] = the position of the key of rank r.
void sort_positions(const uint32_t* keys, int64_t n, int64_t* order);
void sort_positions(const uint64_t* keys, int64_t n, int64_t* order);

// The position of the key of rank k.
int64_t select_position(const uint32_t* keys, int64_t n, int64_t k);
int64_t select_position(const uint64_t* keys, int64_t n, int64_t k);

// The first position from `at` on whose key is less than `bound`, or n; and the number of keys that are at most
// `bound`.
int64_t first_below(const uint32_t* keys, int64_t at, int64_t n, uint32_t bound);
int64_t first_below(const uint64_t* keys, int64_t at, int64_t n, uint64_t bound);
int64_t count_upto(const uint32_t* keys, int64_t n, uint32_t bound);
int64_t count_upto(const uint64_t* keys, int64_t n, uint64_t bound);

}  // namespace undertow::core::cpu
