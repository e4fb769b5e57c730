// cpu_limit.h: how many CPUs this process may use, and how many threads its environment asks for.
// Reads the affinity mask, the control groups and environment variables; does not know the thread pool.
#pragma once

#include <string>

namespace undertow {

// The CPUs in the affinity mask; where the system has none, the CPUs of the machine. At least 1.
int affinity_cpus();

// The CPU quota of the process's control group, version 1 or 2, in CPUs and rounded up; the tightest of the group
// and the groups above it. 0 without a quota. `root` stands before /proc and /sys, so that tests can make their own.
int cgroup_cpus(const std::string& root = "");

// affinity_cpus(), or cgroup_cpus() where that is less.
int available_cpus(const std::string& root = "");

// UNDERTOW_NUM_THREADS, else OMP_NUM_THREADS, else `cpus`, which is available_cpus(). A value that is not a positive
// integer is ignored with a warning; of OpenMP's list for nested regions, "4,2", the first number counts.
int default_num_threads(int cpus);

}  // namespace undertow
