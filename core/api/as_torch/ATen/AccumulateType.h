// AccumulateType.h: see undertow_compat/util.h.
#pragma once
#include <undertow_compat/util.h>
