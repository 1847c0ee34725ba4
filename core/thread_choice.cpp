/// \file
/// Asks the system for the CPUs of this process: affinity mask, and the quota of control groups (version 2 and 1).
#include "core/thread_choice.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace tessera::host {

namespace {

constexpr int most_threads = 4096;
std::atomic<int> fixed_threads{0};

/// The mask of a machine with more than 1024 CPUs needs more than one cpu_set_t.
int cpus_in_mask() {
  std::vector<cpu_set_t> mask(16);
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  if (sched_getaffinity(0, bytes, mask.data()) == 0) return std::max(1, CPU_COUNT_S(bytes, mask.data()));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Whether a list with commas between its words has the word "cpu".
bool names_cpu(std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == "cpu") return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

/// Quota of one group. \param group its path, "" for the root
std::optional<double> quota_in(bool is_second_version, std::string_view group) {
  if (is_second_version) return quota_of(file_text(fmt::format("/sys/fs/cgroup{}/cpu.max", group)));
  const std::string folder = fmt::format("/sys/fs/cgroup/cpu{}", group);
  return quota_of(
      fmt::format("{} {}", file_text(folder + "/cpu.cfs_quota_us"), file_text(folder + "/cpu.cfs_period_us")));
}

/// The lowest quota of the groups in /proc/self/cgroup ("NUMBER:CONTROLLERS:PATH") and of those above them.
std::optional<double> quota() {
  std::optional<double> lowest;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::string_view text = line;
    const std::size_t colon = text.find(':');
    const std::size_t second = colon == std::string_view::npos ? colon : text.find(':', colon + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = text.substr(colon + 1, second - colon - 1);
    if (!controllers.empty() && !names_cpu(controllers)) continue;
    std::string_view group = text.substr(second + 1);
    for (bool is_root = false; !is_root;) {
      is_root = group.empty() || group == "/";
      const std::optional<double> found = quota_in(controllers.empty(), is_root ? "" : group);
      if (found) lowest = std::min(lowest.value_or(*found), *found);
      group = group.substr(0, is_root ? 0 : group.find_last_of('/'));
    }
  }
  return lowest;
}

std::string cpus_text(int count) { return count == 1 ? "1 CPU" : fmt::format("{} CPUs", count); }

}  // namespace

std::optional<double> quota_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_not_of(" \n\t"), text.size());
    const std::size_t end = std::min(text.find_first_of(" \n\t", begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  if (words.size() != 2) return std::nullopt;
  const std::optional<double> allowed = number_of(words[0]);
  const std::optional<double> period = number_of(words[1]);
  if (!allowed || !period || !(*allowed > 0) || !(*period > 0)) return std::nullopt;  // "max", or -1 in version 1
  return *allowed / *period;
}

HostThreads choose_threads(const ThreadFacts& facts) {
  HostThreads choice{std::clamp(facts.cpus, 1, most_threads), ""};
  choice.reason = fmt::format("{} of {}", choice.count, cpus_text(std::max(1, facts.cpus)));
  if (facts.quota && std::ceil(*facts.quota) < choice.count) {
    choice.count = std::max(1, static_cast<int>(std::ceil(*facts.quota)));
    choice.reason = fmt::format("CPU quota of the container, {:.3g} of {}", *facts.quota, cpus_text(facts.cpus));
  }
  if (!facts.omp_num_threads) return choice;
  const std::string_view text = *facts.omp_num_threads;
  const std::optional<double> asked = number_of(text.substr(0, text.find(',')));  // a list is for nested loops
  if (asked && *asked >= 1 && *asked == std::floor(*asked) && *asked < choice.count) {
    choice = {static_cast<int>(*asked), "OMP_NUM_THREADS"};
  }
  return choice;
}

ThreadFacts thread_facts() {
  ThreadFacts facts{cpus_in_mask(), quota(), std::nullopt};
  // Nothing in this library changes the environment.
  if (const char* text = std::getenv("OMP_NUM_THREADS")) facts.omp_num_threads = text;  // NOLINT(concurrency-mt-unsafe)
  return facts;
}

namespace {

[[nodiscard]] const HostThreads& chosen_threads() {
  static const HostThreads choice = choose_threads(thread_facts());
  return choice;
}

}  // namespace

int default_threads() {
  const int fixed = fixed_threads.load();
  return fixed > 0 ? fixed : chosen_threads().count;
}

}  // namespace tessera::host

namespace tessera {

HostThreads default_host_threads() {
  if (const int fixed = host::fixed_threads.load(); fixed > 0) return {fixed, "as asked"};
  return host::chosen_threads();
}

void set_default_host_threads(int threads) {
  if (threads < 0 || threads > host::most_threads) {
    throw InvalidArgument(fmt::format("number of threads must be in [0, {}], got {}", host::most_threads, threads));
  }
  host::fixed_threads.store(threads);
}

}  // namespace tessera
