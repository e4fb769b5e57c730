// warn_always.h: whether warnings that are issued once per process are repeated.
// Apart from error.h, which every file includes.
#pragma once

namespace undertow::core {

void set_warn_always(bool on);

}  // namespace undertow::core
