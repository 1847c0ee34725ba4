#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>

namespace tessera::testing {

namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

[[nodiscard]] Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return {ends[0], ends[1]};
}

/// Between fork and exec: nothing that allocates.
[[noreturn]] void become(char* const* arguments, char* const* environment, int out, int err, const char* directory) {
  if (directory != nullptr && ::chdir(directory) != 0) ::_exit(126);
  // Tests that run in the background were started with these ignored, and solve respects that.
  ::signal(SIGHUP, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

/// Ends with a null pointer, as exec wants it.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[nodiscard]] std::vector<std::string> environment(bool hide_gpus) {
  const std::string visible = "CUDA_VISIBLE_DEVICES=";
  std::vector<std::string> variables;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    if (!hide_gpus || !std::string_view(*entry).starts_with(visible)) variables.emplace_back(*entry);
  }
  if (hide_gpus) variables.push_back(visible);
  return variables;
}

/// Appends what is there. \returns false at the end of the stream
[[nodiscard]] bool drain(int descriptor, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

void collect(pid_t child, const Pipe& out, const Pipe& err, const ProcessOptions& options, ProcessResult& result) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + options.timeout;
  bool signal_due = options.signal_when.signal != 0;
  std::array<pollfd, 2> streams{{{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    constexpr int tick_ms = 50;
    ::poll(streams.data(), streams.size(), tick_ms);
    if ((streams[0].revents & (POLLIN | POLLHUP)) != 0 && !drain(out.read_end, result.out)) streams[0].fd = -1;
    if ((streams[1].revents & (POLLIN | POLLHUP)) != 0 && !drain(err.read_end, result.err)) streams[1].fd = -1;
    if (signal_due && result.err.find(options.signal_when.stderr_holds) != std::string::npos) {
      ::kill(child, options.signal_when.signal);
      signal_due = false;
    }
    if (Clock::now() > deadline && !result.timed_out) {
      ::kill(child, SIGKILL);
      result.timed_out = true;
    }
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  std::vector<std::string> copies = arguments;
  const std::vector<char*> pointers = pointers_to(copies);
  std::vector<std::string> variables = environment(options.hide_gpus);
  variables.insert(variables.end(), options.variables.begin(), options.variables.end());
  const std::vector<char*> variable_pointers = pointers_to(variables);
  const Pipe out = make_pipe();
  const Pipe err = make_pipe();
  const int full = options.stdout_to_full_disk ? ::open("/dev/full", O_WRONLY | O_CLOEXEC) : -1;
  const std::string directory = options.directory.string();

  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    become(pointers.data(), variable_pointers.data(), full >= 0 ? full : out.write_end, err.write_end,
           directory.empty() ? nullptr : directory.c_str());
  }
  ::close(out.write_end);
  ::close(err.write_end);
  if (full >= 0) ::close(full);
  ProcessResult result;
  collect(child, out, err, options, result);
  ::close(out.read_end);
  ::close(err.read_end);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  constexpr std::uint64_t kib = 1024;
  result.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * kib;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace tessera::testing
