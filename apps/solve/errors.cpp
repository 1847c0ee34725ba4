#include "errors.hpp"

#include "interrupt.hpp"
#include "terminal.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace tessera::cli {

namespace {

[[nodiscard]] ExitCode exit_code_of_signal(int signal) {
  if (signal == SIGHUP) return ExitCode::hung_up;
  return signal == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
}

}  // namespace

ExitCode exit_code_of(Status status, int signal, bool exit_zero) {
  switch (status) {
    case Status::converged:
      return ExitCode::success;
    case Status::max_iterations:
    case Status::time_limit:
      return exit_zero ? ExitCode::success : ExitCode::not_converged;
    case Status::breakdown:
    case Status::diverged:
    case Status::stagnated:
    case Status::not_finite:
      return exit_zero ? ExitCode::success : ExitCode::failed;
    case Status::interrupted:
      return exit_code_of_signal(signal);
  }
  return ExitCode::internal_error;
}

namespace {

template <class E>
[[nodiscard]] bool is(const std::exception& error) {
  return dynamic_cast<const E*>(&error) != nullptr;
}

/// The libraries end a message with its hint, which is printed on a separate line.
[[nodiscard]] Failure failure_of(ExitCode code, const std::string& text) {
  constexpr std::string_view separator = "; hint: ";
  const std::size_t place = text.rfind(separator);
  if (place == std::string::npos) return {code, text, {}};
  return {code, text.substr(0, place), text.substr(place + separator.size())};
}

}  // namespace

Failure classify(const std::exception& error) {
  // Long work that was given up for a signal.
  if (is<BudgetExceeded>(error) && interrupt_signal() != 0) return classify(Interrupted(interrupt_signal()));
  if (const auto* usage = dynamic_cast<const UsageError*>(&error)) {
    return {ExitCode::usage, usage->what(), usage->hint()};
  }
  if (is<ReaderGone>(error)) return {ExitCode::reader_gone, {}, {}};
  if (is<InvalidArgument>(error) || is<NotSupported>(error)) return {ExitCode::usage, error.what(), {}};
  if (is<OutOfMemory>(error)) {
    return {ExitCode::out_of_memory, error.what(), "a smaller problem, --precision fp32 or a larger --mem-limit"};
  }
  if (is<BudgetExceeded>(error)) return failure_of(ExitCode::out_of_memory, error.what());
  if (is<std::bad_alloc>(error)) return {ExitCode::out_of_memory, "the system has no more memory", {}};
  if (is<DeviceUnavailable>(error) || is<CudaError>(error) || is<DeviceFailure>(error)) {
    Failure failure = failure_of(ExitCode::no_device, error.what());
    if (failure.hint.empty()) failure.hint = "--device host works everywhere; solve doctor shows what is there";
    return failure;
  }
  if (is<ParseError>(error) || is<InvalidMatrix>(error) || is<IoError>(error) || is<DimensionError>(error)) {
    return failure_of(ExitCode::bad_input, error.what());
  }
  if (const auto* interrupted = dynamic_cast<const Interrupted*>(&error)) {
    return {exit_code_of_signal(interrupted->signal()), error.what(), {}};
  }
  return {ExitCode::internal_error, std::string("internal error: ") + error.what(),
          "this is a bug in solve: please report it with the command line"};
}

namespace {

/// A label in a style, then the text, fitted to a terminal.
void tell(std::string_view label, TextStyle style, std::string_view text) {
  const std::string lines = fitted(fmt::format("{} {}\n", label, text), terminal_width(STDERR_FILENO));
  write_stderr(styled(label, style, STDERR_FILENO) + lines.substr(label.size()));
}

/// Written as it is: nothing may be allocated any more.
constexpr char no_memory_text[] = "solve: error: the system has no more memory\n";

[[noreturn]] void end_without_memory() {
  const auto written = ::write(STDERR_FILENO, no_memory_text, sizeof no_memory_text - 1);
  static_cast<void>(written);
  ::_exit(static_cast<int>(ExitCode::out_of_memory));
}

/// What says which exception it was.
std::terminate_handler usual_handler = std::abort;

/// An exception that left a destructor, a handler or another function that must not throw.
[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const OutOfMemory&) {
    end_without_memory();
  } catch (...) {
    usual_handler();
  }
  std::abort();
}

}  // namespace

ExitCode print_no_memory() noexcept {
  write_stderr(no_memory_text);
  return ExitCode::out_of_memory;
}

void install_terminate_handler() noexcept {
  const std::terminate_handler before = std::set_terminate(on_terminate);
  if (before != nullptr) usual_handler = before;
}

void print_failure(const Failure& failure) {
  if (failure.code == ExitCode::reader_gone) return;
  tell("solve: error:", TextStyle::red, failure.message);
  if (!failure.hint.empty()) tell("  hint:", TextStyle::bold, failure.hint);
}

void print_warnings(const support::Warnings& warnings) {
  for (const support::Warning& warning : warnings) tell("solve: warning:", TextStyle::yellow, warning.text);
}

void write_stderr(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace tessera::cli
