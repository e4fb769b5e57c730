// library.h: see undertow_compat/library.h.
#pragma once
#include <undertow_compat/library.h>
