// device_interface.h: what a compiled module of kernels and the emulator know of each other.
// Included by both sides, so it uses the plain language only. The emulator also carries its text, for kernels that are
// compiled later.
#pragma once
#ifdef EMBED_HEADER_TEXT  // see embedded_headers.cpp
EMBED_HEADER_TEXT(device_interface, __FILE__)
#else

namespace emulated {

struct Index {
  unsigned x, y, z;
};

// What a thread may ask of the emulator. Every call but `stop` may switch to another thread of the block.
struct Services {
  // Waits for all live threads of the block. Results of the predicates: how many were true, and of how many threads.
  struct Votes {
    int yes, voters;
  };
  Votes (*sync_block)(int predicate);
  // Waits for the live lanes of `mask`. Returns the values of all 32 lanes, valid until this thread's next call, and
  // the lanes that took part.
  const unsigned long long* (*gather)(const char* function, unsigned mask, unsigned long long value, unsigned* lanes);
  unsigned (*lane)();
  // Waits until no lane of the warp can go on, and returns those that wait at this place.
  unsigned (*active_lanes)(const char* place);
  // Ends the launch with a result of the driver.
  void (*stop)(int result, const char* message);
};

// A kernel, or a variable whose address a program asked for.
struct Symbol {
  const char* name;
  // Runs one thread, or if whole_block all threads of a block one after another.
  void (*run)(void** parameters, bool whole_block);
  unsigned count;         // of parameters
  const unsigned* sizes;  // of each, in bytes
  void* variable;
  unsigned long long variable_size;
};

// The variables of a module that the emulator sets.
struct Module {
  unsigned version;
  Index *thread, *block, *block_size, *grid_size;
  char** dynamic_shared;
  const Services** services;
};
constexpr unsigned kInterfaceVersion = 1;

}  // namespace emulated

#endif  // EMBED_HEADER_TEXT
