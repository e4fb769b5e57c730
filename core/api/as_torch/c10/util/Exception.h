// Exception.h: see undertow_compat/errors.h.
#pragma once
#include <undertow_compat/errors.h>
