#include "errors.hpp"

#include "interrupt.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <string_view>

namespace tessera::cli {

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
      return signal == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
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
  if (const auto* usage = dynamic_cast<const UsageError*>(&error)) {
    return {ExitCode::usage, usage->what(), usage->hint()};
  }
  if (is<InvalidArgument>(error) || is<NotSupported>(error)) return {ExitCode::usage, error.what(), {}};
  if (is<OutOfMemory>(error)) {
    return {ExitCode::out_of_memory, error.what(), "a smaller problem, --precision fp32 or a larger --mem-limit"};
  }
  if (is<BudgetExceeded>(error)) return failure_of(ExitCode::out_of_memory, error.what());
  if (is<std::bad_alloc>(error)) return {ExitCode::out_of_memory, "the system has no more memory", {}};
  if (is<DeviceUnavailable>(error) || is<CudaError>(error)) {
    return {ExitCode::no_device, error.what(), "--device host works everywhere; solve doctor shows what is there"};
  }
  if (is<ParseError>(error) || is<InvalidMatrix>(error) || is<IoError>(error) || is<DimensionError>(error)) {
    return failure_of(ExitCode::bad_input, error.what());
  }
  if (const auto* interrupted = dynamic_cast<const Interrupted*>(&error)) {
    const bool terminated = interrupted->signal() == SIGTERM;
    return {terminated ? ExitCode::terminated : ExitCode::interrupted, error.what(), {}};
  }
  return {ExitCode::internal_error, std::string("internal error: ") + error.what(),
          "this is a bug in solve: please report it with the command line"};
}

void print_failure(const Failure& failure) {
  write_stderr(fmt::format("solve: error: {}\n", failure.message));
  if (!failure.hint.empty()) write_stderr(fmt::format("  hint: {}\n", failure.hint));
}

void print_warnings(const support::Warnings& warnings) {
  for (const support::Warning& warning : warnings) write_stderr(fmt::format("solve: warning: {}\n", warning.text));
}

void write_stderr(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace tessera::cli
