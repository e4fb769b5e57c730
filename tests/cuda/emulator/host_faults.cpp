// host_faults.cpp: see host_faults.h.
#include "host_faults.h"

#include <signal.h>

#include "memory.h"

namespace emulator {
namespace {

struct sigaction before;

void on_fault(int signal, siginfo_t* info, void*) {
  const std::string what = description_of(info->si_addr);
  if (!what.empty()) say(text("the host touched device memory: %p %s", info->si_addr, what.c_str()));
  sigaction(signal, &before, nullptr);  // the instruction is tried again, and the earlier handler sees it
}

}  // namespace

void explain_host_faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
}

}  // namespace emulator
