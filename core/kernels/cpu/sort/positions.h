// positions.h: sorts and selects by unsigned keys. Stable: equal keys stay in the order of their positions.
// Knows keys and positions; not elements, tensors or threads.
#pragma once

#include <cstdint>

namespace undertow::core::cpu {

// Converts elements to keys of the same order, NaN last, each xored with `flip`.
void vector_keys(const float* from, int64_t n, uint32_t flip, uint32_t* keys);
void vector_keys(const double* from, int64_t n, uint64_t flip, uint64_t* keys);
void vector_keys(const int64_t* from, int64_t n, uint64_t flip, uint64_t* keys);

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

// below[i]: how many of n keys are less than bounds[i]. For few keys, all of which are compared, and some hundred
// bounds.
void count_below(const uint32_t* keys, int64_t n, const uint32_t* bounds, int64_t count, uint32_t* below);
void count_below(const uint64_t* keys, int64_t n, const uint64_t* bounds, int64_t count, uint64_t* below);

// marks[i]: does p[i] differ from p[i - 1]? NaN differs from everything, -0 equals 0.
void mark_runs(const uint32_t* p, int64_t n, uint8_t* marks);
void mark_runs(const uint64_t* p, int64_t n, uint8_t* marks);
void mark_runs(const float* p, int64_t n, uint8_t* marks);
void mark_runs(const double* p, int64_t n, uint8_t* marks);
void mark_half_runs(const uint16_t* p, int64_t n, uint16_t infinity, uint8_t* marks);

}  // namespace undertow::core::cpu
