// Macros.h: see undertow_compat/macros.h.
#pragma once
#include <undertow_compat/macros.h>
