// launch.cpp: the driver's functions that launch kernels, and how a launch runs: block after block on the calling
// thread.
#undef _FORTIFY_SOURCE  // its longjmp refuses to leave the stack of a thread of a block
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "fibers.h"
#include "memory.h"
#include "modules.h"
#include "streams.h"

using namespace emulator;

namespace emulator {
namespace {

// The launch that runs on this thread, and why it ended early.
struct Running {
  sigjmp_buf end;
  CUresult result;
  char message[512];
};
thread_local Running* running = nullptr;

[[noreturn]] void stop(int result, const char* message) {
  running->result = static_cast<CUresult>(result);
  std::snprintf(running->message, sizeof running->message, "%s", message);
  siglongjmp(running->end, 1);
}

// A kernel that reads a wrong address ends its launch and not the process.
const int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[std::size(kSignals)];

void on_signal(int signal, siginfo_t* info, void*) {
  if (!running) {  // another thread's fault: let its own handler see it
    for (size_t i = 0; i < std::size(kSignals); ++i) {
      if (kSignals[i] == signal) sigaction(signal, &previous[i], nullptr);
    }
    return;
  }
  if (signal == SIGFPE) stop(CUDA_ERROR_LAUNCH_FAILED, "an integer was divided by zero");
  if (signal == SIGILL) stop(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction");
  char message[sizeof Running::message];
  std::snprintf(message, sizeof message, "a wrong address: %p %s", info->si_addr,
                description_of(info->si_addr).c_str());
  stop(CUDA_ERROR_ILLEGAL_ADDRESS, message);
}

class SignalGuard {
 public:
  SignalGuard() {
    stack_t present;
    sigaltstack(nullptr, &present);
    if (present.ss_flags & SS_DISABLE) {  // a kernel may have filled its own stack
      constexpr size_t kBytes = 64 * 1024;
      static thread_local std::unique_ptr<char[]> memory(new char[kBytes]);
      stack_t stack{.ss_sp = memory.get(), .ss_flags = 0, .ss_size = kBytes};
      sigaltstack(&stack, nullptr);
    }
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &previous[i]);
  }
  ~SignalGuard() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
};

// Dynamic shared memory ends at a page that nobody may touch.
char* dynamic_shared(size_t bytes) {
  constexpr size_t kBytes = 256 * 1024;
  static char* end = [] {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    auto* begin =
        static_cast<char*>(mmap(nullptr, kBytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(begin + kBytes, page, PROT_NONE);
    return begin + kBytes;
  }();
  constexpr size_t kAlignment = 16;
  return end - (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

struct Shape {
  emulated::Index grid, block;
  unsigned shared;
};

// Not inlined, and without objects that need a destructor: a kernel may leave it by siglongjmp.
__attribute__((noinline)) bool run_blocks(const Launch& launch, const Module& module, char* shared,
                                          size_t shared_bytes) {
  if (sigsetjmp(running->end, 1)) return false;
  const emulated::Module& variables = *launch.module;
  for (unsigned z = 0; z < launch.grid.z; ++z) {
    for (unsigned y = 0; y < launch.grid.y; ++y) {
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        *variables.block = {x, y, z};
        if (shared_bytes) std::memset(shared, 0xA5, shared_bytes);
        if (!module.threads_wait) {
          launch.kernel->run(launch.parameters, true);
        } else if (!run_block_in_fibers(launch, running->message, sizeof running->message)) {
          running->result = CUDA_ERROR_LAUNCH_FAILED;
          return false;
        }
      }
    }
  }
  return true;
}

void run_kernel(const Function& function, const Shape& shape, void** parameters) {
  static const emulated::Services services = [] {
    emulated::Services result = fiber_services();
    result.stop = stop;
    return result;
  }();
  const char* name = function.symbol->name;
  if (function.module->unloaded)
    fail(CUDA_ERROR_ILLEGAL_ADDRESS, "kernel %s: its module was unloaded before it ran", name);
  const emulated::Module& variables = *function.module->variables;
  char* shared = dynamic_shared(shape.shared);
  *variables.services = &services;
  *variables.block_size = shape.block;
  *variables.grid_size = shape.grid;
  *variables.dynamic_shared = shared;
  const bool last_thread_first = settings().seed % 2;
  Launch launch{function.symbol, &variables, parameters, shape.grid, shape.block, last_thread_first};
  Running state;
  running = &state;
  bool finished;
  {
    SignalGuard guard;
    finished = run_blocks(launch, *function.module, shared, shape.shared);
  }
  running = nullptr;
  if (finished) return;
  fail(state.result, "kernel %s, block (%u, %u, %u), thread (%u, %u, %u): %s", name, variables.block->x,
       variables.block->y, variables.block->z, variables.thread->x, variables.thread->y, variables.thread->z,
       state.message);
}

// The values of the parameters at the time of the call.
struct Parameters {
  std::vector<char> bytes;
  std::vector<size_t> offsets;

  Parameters(const emulated::Symbol& kernel, void** values) {
    constexpr size_t kAlignment = 16;
    size_t end = 0;
    for (unsigned i = 0; i < kernel.count; ++i) {
      offsets.push_back(end);
      end += (kernel.sizes[i] + kAlignment - 1) / kAlignment * kAlignment;
    }
    bytes.resize(end);
    for (unsigned i = 0; i < kernel.count; ++i) {
      if (!values || !values[i]) fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: parameter %u is missing", kernel.name, i);
      std::memcpy(&bytes[offsets[i]], values[i], kernel.sizes[i]);
    }
  }
  std::vector<void*> pointers() {
    std::vector<void*> result;
    for (size_t offset : offsets) result.push_back(&bytes[offset]);
    return result;
  }
};

void check(const Shape& shape, const Function& function) {
  const auto& [grid, block, shared] = shape;
  const char* name = function.symbol->name;
  if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535) {
    fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: a grid of %u x %u x %u blocks", name, grid.x, grid.y, grid.z);
  }
  const bool too_large =
      block.x > 1024 || block.y > 1024 || block.z > 64 || uint64_t{block.x} * block.y * block.z > 1024;
  if (!block.x || !block.y || !block.z || too_large) {
    fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: a block of %u x %u x %u threads", name, block.x, block.y, block.z);
  }
  if (shared > static_cast<unsigned>(function.max_dynamic_shared)) {
    fail(CUDA_ERROR_INVALID_VALUE, "kernel %s: %u bytes of dynamic shared memory; cuFuncSetAttribute permitted %d",
         name, shared, function.max_dynamic_shared);
  }
}

CUresult launch(const char* name, CUfunction handle, Shape shape, CUstream stream_handle, void** values, void** extra) {
  return call(name, Needs::kContext, [&] {
    const auto function = functions().get(handle);
    const auto& stream = stream_of(stream_handle);
    check(shape, *function);
    if (extra) fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator takes parameters by kernelParams only");
    if (function->module->device != stream->device) {
      fail(CUDA_ERROR_INVALID_HANDLE, "kernel %s was loaded on device %d, and the stream is one of device %d",
           function->symbol->name, function->module->device, stream->device);
    }
    auto parameters = std::make_shared<Parameters>(*function->symbol, values);
    auto run = [function, shape, parameters] { run_kernel(*function, shape, parameters->pointers().data()); };
    enqueue(stream, {.name = std::string("kernel ") + function->symbol->name, .run = run});
  });
}

// As many blocks as threads, shared memory and the limit on blocks allow.
int blocks_per_multiprocessor(int block_size, size_t shared) {
  constexpr int kThreads = 2048, kBlocks = 32, kReserved = 1024, kShared = 228 * 1024;
  if (block_size <= 0 || block_size > 1024) fail(CUDA_ERROR_INVALID_VALUE, "a block of %d threads", block_size);
  const int rounded = (block_size + 31) / 32 * 32;
  return std::min({kThreads / rounded, kBlocks, kShared / static_cast<int>(shared + kReserved)});
}

enum FunctionAttribute : int {
  kMaxThreads = 0,
  kSharedSize = 1,
  kRegisters = 4,
  kMaxDynamicShared = 8,
  kSharedCarveout = 9
};

}  // namespace
}  // namespace emulator

EMULATOR_API(CUresult)
cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
               unsigned shared, CUstream stream, void** parameters, void** extra) {
  return launch("cuLaunchKernel", function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters, extra);
}
EMULATOR_API(CUresult)
cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, CUstream stream, void** parameters) {
  return launch("cuLaunchCooperativeKernel", function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters,
                nullptr);
}
EMULATOR_API(CUresult) cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** parameters, void** extra) {
  const Shape shape{
      {c->gridDimX, c->gridDimY, c->gridDimZ}, {c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes};
  return launch("cuLaunchKernelEx", function, shape, c->hStream, parameters, extra);
}

EMULATOR_API(CUresult) cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
  return call("cuFuncSetAttribute", Needs::kContext, [&] {
    Function& function = *functions().get(handle);
    if (attribute == kSharedCarveout) return;
    if (attribute != kMaxDynamicShared)
      fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator does not know the attribute %d", attribute);
    if (value < 0 || value > kMaxSharedOptIn)
      fail(CUDA_ERROR_INVALID_VALUE, "%d bytes of shared memory are too many", value);
    function.max_dynamic_shared = value;
  });
}
EMULATOR_API(CUresult) cuFuncGetAttribute(int* value, int attribute, CUfunction handle) {
  return call("cuFuncGetAttribute", Needs::kContext, [&] {
    const Function& function = *functions().get(handle);
    switch (attribute) {
      case kMaxThreads:
        *value = 1024;
        return;
      case kRegisters:
        *value = 32;
        return;
      case kMaxDynamicShared:
        *value = function.max_dynamic_shared;
        return;
      default:
        *value = 0;
        return;
    }
  });
}

EMULATOR_API(CUresult)
cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size, size_t shared) {
  return call("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::kContext, [&] {
    functions().get(function);
    *blocks = blocks_per_multiprocessor(block_size, shared);
  });
}
EMULATOR_API(CUresult)
cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, size_t (*shared_for)(int), size_t shared,
                                 int limit) {
  return call("cuOccupancyMaxPotentialBlockSize", Needs::kContext, [&] {
    constexpr int kMultiprocessors = 4;
    functions().get(function);
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    *grid = kMultiprocessors * blocks_per_multiprocessor(*block, shared_for ? shared_for(*block) : shared);
  });
}
