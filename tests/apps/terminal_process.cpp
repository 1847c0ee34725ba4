#include "terminal_process.hpp"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <regex>
#include <sstream>
#include <string_view>
#include <system_error>

namespace tessera::testing {

namespace {

[[nodiscard]] std::vector<std::string> environment(const std::vector<std::string>& more) {
  std::vector<std::string> variables{"CUDA_VISIBLE_DEVICES=", "TERM=xterm"};
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    bool replaced = false;
    for (const std::string_view name : {"CUDA_VISIBLE_DEVICES=", "TERM=", "NO_COLOR=", "COLUMNS="}) {
      replaced = replaced || variable.starts_with(name);
    }
    if (!replaced) variables.emplace_back(variable);
  }
  for (const std::string& each : more) {
    const std::string name = each.substr(0, each.find('=') + 1);
    std::erase_if(variables, [&](const std::string& variable) { return variable.starts_with(name); });
    variables.push_back(each);
  }
  return variables;
}

[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// All that is shown, until the program closes the terminal.
[[nodiscard]] std::string watch(int terminal, pid_t child, const TerminalOptions& options) {
  std::string text;
  bool keys_due = !options.keys.empty();
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  while (true) {
    pollfd stream{terminal, POLLIN, 0};
    constexpr int tick_ms = 50;
    ::poll(&stream, 1, tick_ms);
    std::array<char, 65536> buffer{};
    const ssize_t got = stream.revents == 0 ? 0 : ::read(terminal, buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (stream.revents != 0 && got <= 0 && errno != EINTR) return text;
    if (keys_due && text.find(options.after) != std::string::npos) {
      for (const char key : options.keys) {
        static_cast<void>(::write(terminal, &key, 1) < 0);
        // The second of two signals must not arrive before the first is handled.
        constexpr useconds_t pause_us = 100000;
        ::usleep(pause_us);
      }
      keys_due = false;
    }
    if (std::chrono::steady_clock::now() > deadline) ::kill(child, SIGKILL);
  }
}

}  // namespace

TerminalResult run_on_terminal(std::vector<std::string> arguments, const TerminalOptions& options) {
  const std::vector<char*> pointers = pointers_to(arguments);
  std::vector<std::string> variables = environment(options.environment);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  const std::string directory = options.directory.string();
  struct winsize size {};
  size.ws_row = 24;
  size.ws_col = options.columns;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child < 0) throw std::system_error(errno, std::generic_category(), "forkpty");
  if (child == 0) {
    if (!directory.empty() && ::chdir(directory.c_str()) != 0) ::_exit(126);
    ::signal(SIGINT, SIG_DFL);
    ::execve(pointers[0], pointers.data(), variable_pointers.data());
    ::_exit(127);
  }
  TerminalResult result;
  result.text = std::regex_replace(watch(terminal, child, options), std::regex("\r+\n"), "\n");
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

std::vector<std::string> screen_lines(const std::string& text) {
  std::istringstream stream(
      std::regex_replace(std::regex_replace(text, std::regex("\x1b\\[[0-9;]*[mK]"), ""), std::regex("\r"), "\n"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace tessera::testing
