// cpu_limit.h: how many CPUs this process may use, and how many threads its environment asks for.
// Reads the affinity mask, the control groups and environment variables; does not know the thread pool.
#pragma once

#include <string>

namespace undertow::core {

// The number of CPUs in the affinity mask, or in the machine if the system has no such mask. At least 1.
int affinity_cpus();

// The CPU quota of the process's control group (version 1 or 2) in CPUs, rounded up: the lowest quota of the group and
// its ancestors. 0 without a quota. `root` is a prefix to /proc and /sys, so that tests can use their own files.
int cgroup_cpus(const std::string& root = "");

// The smaller of affinity_cpus() and the quota, if there is one.
int available_cpus(const std::string& root = "");

// UNDERTOW_NUM_THREADS, else OMP_NUM_THREADS, else `cpus` (callers pass available_cpus()). A value that is not a
// positive integer is ignored with a warning. Of OpenMP's list for nested regions ("4,2"), the first number is used.
int default_num_threads(int cpus);

}  // namespace undertow::core
