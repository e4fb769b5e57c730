// Parallel.h: see undertow_compat/parallel.h.
#pragma once
#include <undertow_compat/parallel.h>
