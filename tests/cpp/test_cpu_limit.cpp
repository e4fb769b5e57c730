// test_cpu_limit.cpp: the default number of threads depends on the environment, the affinity mask and cgroup quotas.
// The test writes its own copies of the system's files to a folder.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/cpu_limit.h"
#include "core/base/error.h"
#include "tests/cpp/check.h"

namespace fs = std::filesystem;
using undertow::core::affinity_cpus;
using undertow::core::available_cpus;
using undertow::core::cgroup_cpus;
using undertow::core::default_num_threads;

namespace {

std::vector<std::string> warnings;

// A fake /proc and /sys, removed at the end.
struct System {
  fs::path root = fs::temp_directory_path() / ("undertow_cpu_limit_" + std::to_string(getpid()));
  System() { fs::remove_all(root); }
  ~System() { fs::remove_all(root); }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  }
  int quota() const { return cgroup_cpus(root.string()); }
};

const char* const kMountV2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
const char* const kMountV1 =
    "25 30 0:23 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:15 - cgroup cgroup rw,cpu,cpuacct";

void test_a_system_without_control_groups_has_no_quota() {
  System system;
  CHECK(system.quota() == 0);
  system.write("proc/self/cgroup", "0::/");
  CHECK(system.quota() == 0);
  system.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw");
  CHECK(system.quota() == 0);
}

void test_version_2_reads_cpu_max() {
  System system;
  system.write("proc/self/mountinfo", kMountV2);
  system.write("proc/self/cgroup", "0::/");
  system.write("sys/fs/cgroup/cpu.max", "max 100000");
  CHECK(system.quota() == 0);
  system.write("sys/fs/cgroup/cpu.max", "200000 100000");
  CHECK(system.quota() == 2);
  system.write("sys/fs/cgroup/cpu.max", "150000 100000");  // one and a half CPUs keep two threads busy
  CHECK(system.quota() == 2);
  system.write("sys/fs/cgroup/cpu.max", "10000 100000");
  CHECK(system.quota() == 1);
  system.write("sys/fs/cgroup/cpu.max", "nonsense");
  CHECK(system.quota() == 0);
}

void test_version_2_takes_the_tightest_of_the_groups_above() {
  System system;
  system.write("proc/self/mountinfo", kMountV2);
  system.write("proc/self/cgroup", "0::/work.slice/job/step");
  system.write("sys/fs/cgroup/work.slice/cpu.max", "300000 100000");
  system.write("sys/fs/cgroup/work.slice/job/cpu.max", "500000 100000");
  system.write("sys/fs/cgroup/work.slice/job/step/cpu.max", "max 100000");
  CHECK(system.quota() == 3);
  system.write("sys/fs/cgroup/work.slice/job/step/cpu.max", "100000 100000");
  CHECK(system.quota() == 1);
}

void test_version_1_reads_quota_and_period_of_the_cpu_controller() {
  System system;
  system.write("proc/self/mountinfo", kMountV1);
  system.write("proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/batch/job\n1:name=systemd:/batch");
  system.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "-1");
  system.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_period_us", "100000");
  CHECK(system.quota() == 0);
  system.write("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "400000");
  system.write("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "100000");
  CHECK(system.quota() == 4);
  system.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "75000");
  system.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_period_us", "50000");
  CHECK(system.quota() == 2);
  system.write("sys/fs/cgroup/cpu,cpuacct/other/cpu.cfs_quota_us", "1000");  // a different group, of the cpuset
  CHECK(system.quota() == 2);
}

void test_a_container_sees_its_own_group_at_the_mount_point() {
  System system;
  system.write("proc/self/mountinfo", "33 25 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu");
  system.write("proc/self/cgroup", "4:cpu:/docker/abc");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  CHECK(system.quota() == 3);
  system.write("proc/self/cgroup", "4:cpu:/docker/abc/inner");
  CHECK(system.quota() == 3);
  system.write("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "100000");
  system.write("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000");
  CHECK(system.quota() == 1);
  system.write("proc/self/cgroup", "4:cpu:/docker/abcinner");  // a different group with the same prefix
  CHECK(system.quota() == 3);
}

void test_a_quota_only_lowers_the_number_of_cpus() {
  System system;
  system.write("proc/self/mountinfo", kMountV2);
  system.write("proc/self/cgroup", "0::/");
  system.write("sys/fs/cgroup/cpu.max", "100000 100000");
  CHECK(available_cpus(system.root.string()) == 1);
  system.write("sys/fs/cgroup/cpu.max", "99900000 100000");
  CHECK(available_cpus(system.root.string()) == affinity_cpus());
}

void test_the_environment_decides_first() {
  System system;
  system.write("proc/self/mountinfo", kMountV2);
  system.write("proc/self/cgroup", "0::/");
  system.write("sys/fs/cgroup/cpu.max", "100000 100000");
  std::string root = system.root.string();
  CHECK(default_num_threads(available_cpus(root)) == 1);
  setenv("OMP_NUM_THREADS", "3", 1);
  CHECK(default_num_threads(available_cpus(root)) == 3);
  setenv("OMP_NUM_THREADS", " 5 , 2", 1);
  CHECK(default_num_threads(available_cpus(root)) == 5);
  setenv("UNDERTOW_NUM_THREADS", "7", 1);
  CHECK(default_num_threads(available_cpus(root)) == 7);
  setenv("UNDERTOW_NUM_THREADS", "", 1);
  CHECK(default_num_threads(available_cpus(root)) == 5);
  CHECK(warnings.empty());
}

void test_a_wrong_value_warns_and_is_ignored() {
  for (const char* wrong : {"0", "-2", "four", "4x", "1.5", "99999999999999999999"}) {
    warnings.clear();
    setenv("UNDERTOW_NUM_THREADS", wrong, 1);
    setenv("OMP_NUM_THREADS", "5", 1);
    CHECK(default_num_threads(available_cpus()) == 5);
    CHECK(warnings.size() == 1);
    CHECK(warnings.size() == 1 &&
          warnings[0].find("UNDERTOW_NUM_THREADS: expects a positive integer: got '" + std::string(wrong) + "'") == 0);
    setenv("OMP_NUM_THREADS", wrong, 1);
    CHECK(default_num_threads(available_cpus()) == available_cpus());
    CHECK(warnings.size() == 3);
  }
}

}  // namespace

int main() {
  unsetenv("OMP_NUM_THREADS");
  unsetenv("UNDERTOW_NUM_THREADS");
  undertow::core::set_warning_sink([](const std::string& message) { warnings.push_back(message); });
  test_a_system_without_control_groups_has_no_quota();
  test_version_2_reads_cpu_max();
  test_version_2_takes_the_tightest_of_the_groups_above();
  test_version_1_reads_quota_and_period_of_the_cpu_controller();
  test_a_container_sees_its_own_group_at_the_mount_point();
  test_a_quota_only_lowers_the_number_of_cpus();
  test_the_environment_decides_first();
  test_a_wrong_value_warns_and_is_ignored();
  return report("test_cpu_limit");
}
