// parallel.h: at::parallel_for on Undertow's threads.
#pragma once
#include <undertow/parallel.h>

#include <undertow_compat/names.h>

namespace undertow {
inline void init_num_threads() {}
}  // namespace undertow
