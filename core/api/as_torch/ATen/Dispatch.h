// Dispatch.h: see undertow_compat/dispatch.h.
#pragma once
#include <undertow_compat/dispatch.h>
