// cpu_limit.cpp: the affinity mask, cgroup files and environment variables behind the default number of threads.
// build: small
#include "core/base/cpu_limit.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/error.h"

namespace undertow::core {
namespace {

// Parses all of `text` as a positive integer; returns 0 for anything else.
int64_t positive(std::string_view text) {
  int64_t n = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && stop == text.data() + text.size() && n > 0 ? n : 0;
}

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool has_item(const std::string& list, std::string_view item) {
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) {
    if (word == item) return true;
  }
  return false;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The quota in one group's folder, in CPUs; 0 without a quota. Version 2 writes "150000 100000" or "max 100000" into
// cpu.max. Version 1 has one file for the quota (-1 for none) and one for the period.
int64_t quota_of(const std::string& folder, bool version2) {
  std::string quota, period;
  if (version2) {
    std::istringstream(first_line(folder + "/cpu.max")) >> quota >> period;
  } else {
    quota = first_line(folder + "/cpu.cfs_quota_us");
    period = first_line(folder + "/cpu.cfs_period_us");
  }
  int64_t us = positive(quota), per = positive(period);
  return us && per ? (us - 1) / per + 1 : 0;
}

// Where a hierarchy is mounted, and the group at its mount point (in a container, the container's own group).
struct Mount {
  std::string folder, group;
};

// A line of mountinfo: "36 35 98:0 /group /folder rw,noatime master:1 - cgroup cgroup rw,cpu,cpuacct".
bool find_mount(const std::string& root, bool version2, Mount* mount) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> words = words_of(line);
    auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    bool wanted = version2 ? dash[1] == "cgroup2" : dash[1] == "cgroup" && has_item(dash[3], "cpu");
    if (!wanted) continue;
    *mount = {words[4], words[3] == "/" ? "" : words[3]};
    return true;
  }
  return false;
}

// The lowest quota from `group` up to the mount point.
int64_t tightest_quota(const std::string& root, const std::string& group, bool version2) {
  Mount mount;
  if (!find_mount(root, version2, &mount)) return 0;
  // Groups outside the mount cannot be read. The mount point then counts as our group.
  bool shown =
      group.starts_with(mount.group) && (group.size() == mount.group.size() || group[mount.group.size()] == '/');
  std::string below = shown ? group.substr(mount.group.size()) : "";
  int64_t tightest = 0;
  for (;;) {
    while (!below.empty() && below.back() == '/') below.pop_back();
    int64_t quota = quota_of(root + mount.folder + below, version2);
    if (quota && (!tightest || quota < tightest)) tightest = quota;
    if (below.empty()) return tightest;
    size_t slash = below.rfind('/');
    below.resize(slash == below.npos ? 0 : slash);
  }
}

// The value of an environment variable as a number of threads; 0 if it is unset, empty or invalid.
int64_t threads_from(const char* name) {
  const char* value = std::getenv(name);
  if (!value) return 0;
  std::string_view text = trimmed(value);
  if (text.empty()) return 0;
  int64_t n = positive(trimmed(text.substr(0, text.find(','))));
  if (!n) warn(std::string(name) + ": expects a positive integer: got '" + value + "'; the variable is ignored");
  return n;
}

}  // namespace

int affinity_cpus() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int cgroup_cpus(const std::string& root) {
  int64_t tightest = 0;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/group", or "0::/group" for version 2
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    bool version2 = controllers.empty();
    if (!version2 && !has_item(controllers, "cpu")) continue;
    int64_t quota = tightest_quota(root, line.substr(second + 1), version2);
    if (quota && (!tightest || quota < tightest)) tightest = quota;
  }
  return static_cast<int>(std::min<int64_t>(tightest, 1 << 20));
}

int available_cpus(const std::string& root) {
  int cpus = affinity_cpus(), quota = cgroup_cpus(root);
  return quota && quota < cpus ? quota : cpus;
}

int default_num_threads(int cpus) {
  int64_t wanted = threads_from("UNDERTOW_NUM_THREADS");
  if (!wanted) wanted = threads_from("OMP_NUM_THREADS");
  return wanted ? static_cast<int>(std::min<int64_t>(wanted, 1 << 20)) : cpus;
}

}  // namespace undertow::core
