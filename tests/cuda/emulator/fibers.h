// fibers.h: runs the threads of one block so that they can wait for each other.
#pragma once
#include "device_interface.h"
#include "driver_types.h"

namespace emulator {

struct Launch {
  const emulated::Symbol* kernel;
  const emulated::Module* module;
  void** parameters;
  emulated::Index grid, block;
  bool last_thread_first;
};

// Runs the block whose index the module's variables hold. Returns false if its threads wait for each other forever; the
// message then says where.
bool run_block_in_fibers(const Launch& launch, char* message, size_t message_size);

// What device code may call; `stop` is given by the launch.
emulated::Services fiber_services();

}  // namespace emulator
