/// Random commands × random times × signals: no partial file under a final name, one signal ends the command, and a
/// later run is not hindered.
#include "tests/apps/solve_process.hpp"
#include "tests/torture/budget.hpp"

#include "tessera/matrix_market.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <random>
#include <thread>

namespace tessera::testing {
namespace {

/// How `solve` ended; the wait is bounded generously.
struct Ending {
  int status = 0;
  bool in_time = false;
};

[[nodiscard]] Ending signalled(const std::string& directory, std::vector<std::string> arguments, int signal,
                               std::chrono::milliseconds delay) {
  arguments.insert(arguments.begin(), TESSERA_SOLVE_BINARY);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int one : {SIGINT, SIGTERM, SIGHUP}) ::signal(one, SIG_DFL);
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    if (::chdir(directory.c_str()) != 0) ::_exit(126);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  std::this_thread::sleep_for(delay);
  ::kill(child, signal);
  Ending ending;
  constexpr int half_minute = 3000;
  for (int tick = 0; tick < half_minute && !ending.in_time; ++tick) {
    ending.in_time = ::waitpid(child, &ending.status, WNOHANG) == child;
    if (!ending.in_time) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!ending.in_time) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &ending.status, 0);
  }
  return ending;
}

class TortureSignals : public SolveTest {
 protected:
  /// What lies under a final name is whole.
  void expect_whole_outputs() const {
    if (std::filesystem::exists(path("x.mtx"))) {
      EXPECT_NO_THROW(static_cast<void>(read_vector<double>(path("x.mtx"))));
    }
    if (std::filesystem::exists(path("c.mtx"))) {
      EXPECT_NO_THROW(static_cast<void>(read_matrix_market<double>(path("c.mtx"))));
    }
    const std::string json = contents(path("r.json"));
    if (!json.empty()) {
      EXPECT_TRUE(nlohmann::json::accept(json));
    }
  }
};

const std::array<std::string, 4> commands{
    "--poisson2d 500 -p none --rtol 1e-30 --stagnation 100000000 --max-iters 100000000 -o x.mtx --json=r.json",
    "--poisson3d 40 -q -o x.mtx --json=r.json",
    "spgemm --poisson2d 300 -o c.mtx --json=r.json",
    "convert --poisson2d 300 c.mtx --force",
};

TEST_F(TortureSignals, LeaveNoPartialOutput) {
  for (std::uint64_t seed = 0; seed < torture_cases(24) && !HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    const std::string& command = commands[random() % commands.size()];
    const int signal = std::array<int, 4>{SIGTERM, SIGINT, SIGHUP, SIGKILL}[random() % 4];
    const auto delay = std::chrono::milliseconds(random() % 700);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", signal " + std::to_string(signal) + " after " +
                 std::to_string(delay.count()) + " ms: " + command);
    const Ending ending = signalled(path(""), words(command), signal, delay);
    EXPECT_TRUE(ending.in_time);
    if (WIFEXITED(ending.status)) {
      EXPECT_NE(WEXITSTATUS(ending.status), 1);
    }
    if (WIFSIGNALED(ending.status)) {
      EXPECT_NE(WTERMSIG(ending.status), SIGSEGV);
      EXPECT_NE(WTERMSIG(ending.status), SIGABRT);
    }
    expect_whole_outputs();
    // Whatever the killed run left behind, a later one ends well.
    const ProcessResult after = run("--poisson2d 20 -q -o x.mtx --json=r.json");
    EXPECT_EQ(after.exit_code, 0) << after.err;
    expect_whole_outputs();
  }
}

}  // namespace
}  // namespace tessera::testing
