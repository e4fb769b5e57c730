// host_faults.h: says why a program crashed that followed a device pointer on the host.
#pragma once

namespace emulator {

// Installs a handler that prints a sentence and leaves the rest to the handler that was there before.
void explain_host_faults();

}  // namespace emulator
