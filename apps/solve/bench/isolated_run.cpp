// Runs in child processes: fork without exec. The parent has no threads and no GPU, so the copy is as good as a new
// process, and settings need not be written as words of a command.
#include "isolated_run.hpp"

#include "commands.hpp"
#include "errors.hpp"
#include "interrupt.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <system_error>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <string_view>
#include <thread>

namespace tessera::cli {

namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

/// Without a name; a pipe would have to be emptied while the process runs.
[[nodiscard]] TemporaryFile temporary_file() {
  TemporaryFile file(std::tmpfile());
  if (!file) fail("a temporary file");
  return file;
}

[[nodiscard]] std::string contents_of(std::FILE* file) {
  std::string text;
  std::array<char, 65536> piece{};
  const int descriptor = ::fileno(file);
  for (off_t place = 0;;) {
    const ssize_t read = ::pread(descriptor, piece.data(), piece.size(), place);
    if (read < 0) fail("the output of a process");
    if (read == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(read));
    place += read;
  }
}

[[noreturn]] void be_the_child(const std::function<int()>& body, std::FILE* out, std::FILE* err, pid_t parent) {
  // Ctrl-C of a terminal goes to the parent alone, which ends this process, whatever ends the parent.
  static_cast<void>(::setpgid(0, 0));
#ifdef __linux__
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  if (::getppid() != parent) ::_exit(1);
#endif
  const int nothing = ::open("/dev/null", O_RDONLY);
  static_cast<void>(::dup2(nothing, STDIN_FILENO));
  static_cast<void>(::dup2(::fileno(out), STDOUT_FILENO));
  static_cast<void>(::dup2(::fileno(err), STDERR_FILENO));
  // Nothing may unwind into the code of the parent.
  int code = 0;
  try {
    code = body();
  } catch (...) {
    code = static_cast<int>(print_no_memory());
  }
  static_cast<void>(std::fflush(nullptr));
  ::_exit(code);
}

/// 0 where the system does not tell.
[[nodiscard]] std::uint64_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return file ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

[[nodiscard]] double milliseconds(const timeval& time) {
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
}

/// Watches a process until it has ended, and ends it where a limit or a signal asks for it.
class Watch {
 public:
  Watch(pid_t process, const RunLimits& limits) : process_(process), limits_(limits) {}

  [[nodiscard]] IsolatedRun wait() {
    constexpr std::chrono::microseconds longest{20'000};
    std::chrono::microseconds pause{200};
    int status = 0;
    rusage used{};
    while (true) {
      const pid_t ended = ::wait4(process_, &status, WNOHANG, &used);
      if (ended == process_) break;
      if (ended < 0 && errno != EINTR) fail("wait4");
      look();
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 5 / 4, longest);  // so that the end is noticed within a quarter of the time
    }
    result_.wall_ms = watch_.milliseconds();
    result_.cpu_ms = milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
    result_.peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;  // KiB on Linux
    take(status);
    return result_;
  }

 private:
  using End = IsolatedRun::End;

  void look() {
    constexpr double grace_ms = 2000.0;  // to write what it has
    if (result_.end == End::exited && interrupt_signal() != 0) return stop(End::interrupted, SIGKILL);
    if (result_.end == End::exited && limits_.resident_bytes > 0 && resident_bytes(process_) > limits_.resident_bytes) {
      return stop(End::memory_limit, SIGKILL);
    }
    const double elapsed = watch_.milliseconds();
    if (result_.end == End::exited && elapsed > 1e3 * limits_.seconds) return stop(End::time_limit, SIGINT);
    if (result_.end == End::time_limit && (elapsed > 1e3 * limits_.seconds + grace_ms || interrupt_signal() != 0)) {
      static_cast<void>(::kill(process_, SIGKILL));
    }
  }

  void stop(End end, int signal) {
    result_.end = end;
    static_cast<void>(::kill(process_, signal));
  }

  void take(int status) {
    if (WIFEXITED(status)) {
      result_.exit_code = WEXITSTATUS(status);
      // It ended by itself just before it was asked to.
      const bool stopped = result_.exit_code == static_cast<int>(ExitCode::interrupted);
      if (result_.end == End::time_limit && !stopped) result_.end = End::exited;
      return;
    }
    result_.signal = WTERMSIG(status);
    if (result_.end == End::exited) result_.end = End::crashed;
  }

  pid_t process_;
  RunLimits limits_;
  Stopwatch watch_;
  IsolatedRun result_;
};

[[nodiscard]] ExitCode call(const Options& options) {
  const Invocation invocation{{"solve"}, support::utc_now()};
  if (options.command() == Command::inspect) return inspect_command(options, invocation);
  if (options.command() == Command::compare) return compare_command(options, invocation);
  return run_command(options, invocation);
}

}  // namespace

IsolatedRun run_isolated(const std::function<int()>& body, const RunLimits& limits) {
  const TemporaryFile out = temporary_file();
  const TemporaryFile err = temporary_file();
  static_cast<void>(std::fflush(nullptr));  // or the copy would write it once more
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) fail("fork");
  if (process == 0) be_the_child(body, out.get(), err.get(), parent);
  IsolatedRun result = Watch(process, limits).wait();
  result.out = contents_of(out.get());
  result.err = contents_of(err.get());
  return result;
}

IsolatedRun run_isolated(const Options& options, const RunLimits& limits) {
  const auto body = [&options] {
    try {
      return static_cast<int>(call(options));
    } catch (const std::bad_alloc&) {
      return static_cast<int>(print_no_memory());
    } catch (const std::exception& error) {
      const Failure failure = classify(error);
      print_failure(failure);
      return static_cast<int>(failure.code);
    }
  };
  return run_isolated(body, limits);
}

std::string error_of(const IsolatedRun& run) {
  constexpr std::string_view start = "solve: error: ";
  const std::size_t begin = run.err.find(start);
  if (begin == std::string::npos) return {};
  const std::size_t end = run.err.find('\n', begin);
  return run.err.substr(begin + start.size(), end == std::string::npos ? end : end - begin - start.size());
}

}  // namespace tessera::cli
