// fibers.cpp: a stack for each thread of a block, a round-robin schedule, and the places where threads wait.
//
// Note [Waiting Threads]
// A block barrier is complete when all threads that have not returned have arrived. A warp function is complete when
// all live lanes of its mask have arrived with the same mask and function; several can be in progress, since lanes that
// branched apart use different masks. A thread that returns may complete both.
#include "fibers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulator {
namespace {

constexpr size_t kStackBytes = 256 * 1024;
constexpr unsigned kWarp = 32;

#if defined(__x86_64__)
// Saves the callee's registers on the old stack and takes those of the new one.
extern "C" void undertow_emulator_switch(void** old_stack, void* new_stack);
asm(R"(
.text
.p2align 4
.hidden undertow_emulator_switch
.globl undertow_emulator_switch
.type undertow_emulator_switch, @function
undertow_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size undertow_emulator_switch, . - undertow_emulator_switch
)");

struct Stack {
  void* pointer = nullptr;
  void prepare(char* end, void (*entry)()) {
    constexpr int kSaved = 6;  // registers that the switch pops
    auto** top = reinterpret_cast<void**>(end);
    top[-1] = nullptr;  // the return address of `entry`, which does not return
    top[-2] = reinterpret_cast<void*>(entry);
    std::fill(top - 2 - kSaved, top - 2, nullptr);
    pointer = top - 2 - kSaved;
  }
  static void change(Stack& from, Stack& to) { undertow_emulator_switch(&from.pointer, to.pointer); }
};
#else
struct Stack {
  ucontext_t context;
  void prepare(char* end, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = end - kStackBytes;
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
  static void change(Stack& from, Stack& to) { swapcontext(&from.context, &to.context); }
};
#endif

// One call of a warp function by some lanes.
struct Gathering {
  const char* function;
  unsigned mask;
  bool any_lanes;  // __activemask: complete when the warp cannot go on, whoever has arrived
  unsigned arrived = 0;
  unsigned unread = 0;  // lanes that have not asked for another one since
  bool complete = false;
  unsigned long long values[kWarp];

  void begin(const char* name, unsigned of_lanes, bool any) {
    function = name;
    mask = of_lanes;
    any_lanes = any;
    arrived = unread = 0;
    complete = false;
  }
};

enum class State { kReady, kAtBlockBarrier, kInWarp, kReturned };

struct Thread {
  Stack stack;
  emulated::Index index;
  State state;
  unsigned number;
  Gathering* gathering;  // its current or last one

  unsigned lane() const { return number % kWarp; }
};

struct Warp {
  unsigned first_thread;
  unsigned live;
  std::vector<std::unique_ptr<Gathering>> gatherings;  // in progress, or with lanes that may still read
  std::vector<std::unique_ptr<Gathering>> unused;

  Gathering& add_gathering() {
    if (unused.empty()) unused.push_back(std::make_unique<Gathering>());
    gatherings.push_back(std::move(unused.back()));
    unused.pop_back();
    return *gatherings.back();
  }
};

struct Block {
  const Launch* launch;
  Stack scheduler;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Thread* running;
  unsigned live;
  unsigned at_barrier;
  int yes;                           // of those at the barrier
  emulated::Services::Votes result;  // of the last barrier
};

// Kernels run under the driver's lock, so one block is enough.
Block& only_block = *new Block;
Block& block() { return only_block; }

// The stacks are kept between launches; each has a page before it that nobody may touch.
char* stack_end(size_t number) {
  static auto& ends = *new std::vector<char*>;
  while (ends.size() <= number) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* begin =
        mmap(nullptr, kStackBytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) return nullptr;
    mprotect(begin, page, PROT_NONE);
    ends.push_back(static_cast<char*>(begin) + kStackBytes + page);
  }
  return ends[number];
}

Warp& warp_of(const Thread& thread) { return block().warps[thread.number / kWarp]; }

void complete_barrier_if_all_arrived() {
  Block& b = block();
  if (!b.at_barrier || b.at_barrier < b.live) return;
  b.result = {b.yes, static_cast<int>(b.at_barrier)};
  b.at_barrier = 0;
  b.yes = 0;
  for (Thread& thread : b.threads) {
    if (thread.state == State::kAtBlockBarrier) thread.state = State::kReady;
  }
}

void complete(Warp& warp, Gathering& gathering) {
  gathering.complete = true;
  gathering.unread = gathering.arrived;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if (gathering.arrived >> lane & 1) block().threads[warp.first_thread + lane].state = State::kReady;
  }
}

void complete_if_all_arrived(Warp& warp, Gathering& gathering) {
  if (!gathering.complete && gathering.arrived && gathering.arrived == (gathering.mask & warp.live))
    complete(warp, gathering);
}

// When nobody can go on: true if that was what some lanes waited for.
bool complete_active_masks() {
  bool found = false;
  for (Warp& warp : block().warps) {
    for (auto& gathering : warp.gatherings) {
      if (!gathering->any_lanes || gathering->complete) continue;
      complete(warp, *gathering);
      found = true;
    }
  }
  return found;
}

void forget_last_gathering(Thread& thread) {
  Gathering* last = thread.gathering;
  if (!last) return;
  thread.gathering = nullptr;
  last->unread &= ~(1u << thread.lane());
  if (last->unread) return;
  Warp& warp = warp_of(thread);
  auto is_last = [last](const auto& other) { return other.get() == last; };
  auto it = std::find_if(warp.gatherings.begin(), warp.gatherings.end(), is_last);
  std::swap(*it, warp.gatherings.back());
  warp.unused.push_back(std::move(warp.gatherings.back()));
  warp.gatherings.pop_back();
}

// Goes on with a thread, on the stack `from`.
void resume(Stack& from, Thread& thread) {
  Block& b = block();
  b.running = &thread;
  *b.launch->module->thread = thread.index;
  Stack::change(from, thread.stack);
}

// Leaves the running thread. Most often the next one is ready: that saves the way over the scheduler.
void wait() {
  Block& b = block();
  Thread& self = *b.running;
  const size_t next = b.launch->last_thread_first ? self.number - size_t{1} : self.number + size_t{1};
  if (next < b.threads.size() && b.threads[next].state == State::kReady) {
    resume(self.stack, b.threads[next]);
  } else {
    Stack::change(self.stack, b.scheduler);
  }
}

[[noreturn]] void thread_main() {
  Block& b = block();
  b.launch->kernel->run(b.launch->parameters, false);
  Thread& self = *b.running;
  self.state = State::kReturned;
  --b.live;
  Warp& warp = warp_of(self);
  warp.live &= ~(1u << self.lane());
  forget_last_gathering(self);
  complete_barrier_if_all_arrived();
  for (auto& gathering : warp.gatherings) complete_if_all_arrived(warp, *gathering);
  wait();
  __builtin_unreachable();
}

emulated::Services::Votes sync_block(int predicate) {
  Block& b = block();
  ++b.at_barrier;
  b.yes += predicate != 0;
  b.running->state = State::kAtBlockBarrier;
  complete_barrier_if_all_arrived();
  if (b.running->state == State::kAtBlockBarrier) wait();
  return b.result;
}

// Waits for the lanes and returns their values.
Gathering& gather_lanes(const char* function, unsigned mask, bool any_lanes, unsigned long long value) {
  Thread& self = *block().running;
  Warp& warp = warp_of(self);
  const unsigned own = 1u << self.lane();
  forget_last_gathering(self);
  auto fits = [&](const auto& g) {
    return !g->complete && g->mask == mask && !(g->arrived & own) &&
           (g->function == function || !std::strcmp(g->function, function));
  };
  auto found = std::find_if(warp.gatherings.begin(), warp.gatherings.end(), fits);
  const bool is_first = found == warp.gatherings.end();
  Gathering& gathering = is_first ? warp.add_gathering() : **found;
  if (is_first) gathering.begin(function, mask, any_lanes);
  gathering.arrived |= own;
  gathering.values[self.lane()] = value;
  self.gathering = &gathering;
  self.state = State::kInWarp;
  if (mask & own) complete_if_all_arrived(warp, gathering);
  if (self.state == State::kInWarp) wait();
  return gathering;
}

const unsigned long long* gather(const char* function, unsigned mask, unsigned long long value, unsigned* lanes) {
  const Gathering& all = gather_lanes(function, mask, false, value);
  *lanes = all.arrived;
  return all.values;
}

unsigned active_lanes(const char* place) { return gather_lanes(place, ~0u, true, 0).arrived; }

void describe_deadlock(char* message, size_t size) {
  const Block& b = block();
  unsigned waiting = 0;
  const Thread* example = nullptr;
  for (const Thread& thread : b.threads) {
    if (thread.state != State::kInWarp) continue;
    ++waiting;
    if (!example) example = &thread;
  }
  int used = std::snprintf(message, size, "its threads wait forever: %u at __syncthreads, %u in warp functions",
                           b.at_barrier, waiting);
  if (!example || used < 0 || static_cast<size_t>(used) >= size) return;
  std::snprintf(message + used, size - static_cast<size_t>(used),
                " (thread %u waits in %s with mask %08x, where lanes %08x have arrived and %08x are alive)",
                example->number, example->gathering->function, example->gathering->mask, example->gathering->arrived,
                b.warps[example->number / kWarp].live);
}

void prepare(const Launch& launch) {
  Block& b = block();
  const unsigned count = launch.block.x * launch.block.y * launch.block.z;
  b.launch = &launch;
  b.live = count;
  b.at_barrier = 0;
  b.yes = 0;
  b.threads.resize(count);
  b.warps.resize((count + kWarp - 1) / kWarp);
  for (size_t i = 0; i < b.warps.size(); ++i) {
    b.warps[i].first_thread = static_cast<unsigned>(i) * kWarp;
    const unsigned lanes = std::min(kWarp, count - b.warps[i].first_thread);
    b.warps[i].live = lanes == kWarp ? ~0u : (1u << lanes) - 1;
    b.warps[i].gatherings.clear();
  }
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = b.threads[i];
    thread.index = {i % launch.block.x, i / launch.block.x % launch.block.y, i / launch.block.x / launch.block.y};
    thread.state = State::kReady;
    thread.number = i;
    thread.gathering = nullptr;
    thread.stack.prepare(stack_end(i), thread_main);
  }
}

}  // namespace

bool run_block_in_fibers(const Launch& launch, char* message, size_t message_size) {
  prepare(launch);
  Block& b = block();
  while (b.live) {
    bool progress = false;
    for (size_t i = 0; i < b.threads.size(); ++i) {
      Thread& thread = b.threads[launch.last_thread_first ? b.threads.size() - 1 - i : i];
      if (thread.state != State::kReady) continue;
      progress = true;
      resume(b.scheduler, thread);
    }
    if (progress || complete_active_masks()) continue;
    describe_deadlock(message, message_size);
    return false;
  }
  return true;
}

emulated::Services fiber_services() {
  return {.sync_block = sync_block,
          .gather = gather,
          .lane = [] { return block().running->lane(); },
          .active_lanes = active_lanes,
          .stop = nullptr};
}

}  // namespace emulator
