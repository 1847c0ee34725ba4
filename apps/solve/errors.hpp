/// \file
/// Errors of the command: exceptions, exit codes, messages on standard error.
#pragma once

#include "support/warning.hpp"
#include "tessera/report.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::cli {

/// Ends the program with exit code 2.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}

  /// What to type instead; may be empty.
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  std::string hint_;
};

/// A value that an option does not take. Where the value came from (a file, the environment) is added by the program.
class OptionError : public UsageError {
 public:
  OptionError(std::string option, const std::string& message, std::string hint = {})
      : UsageError(message, std::move(hint)), option_(std::move(option)) {}

  /// Long name without dashes.
  [[nodiscard]] const std::string& option() const noexcept { return option_; }

 private:
  std::string option_;
};

/// Whoever read standard output has gone, as `head` does: nothing to tell, but the text was not written.
class ReaderGone : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the reader of standard output has gone"; }
};

enum class ExitCode : int {
  success = 0,         ///< converged and verified, or the command did its job
  internal_error = 1,  ///< a bug
  usage = 2,           ///< bad option or value
  not_converged = 3,   ///< iteration or time limit
  failed = 4,          ///< breakdown, divergence, stagnation, or numbers that are not finite
  bad_input = 5,       ///< a file, its format, dimensions, a singular diagonal; an output that cannot be written
  out_of_memory = 6,   ///< also factors that exceed their limits
  no_device = 7,
  verification_failed = 8,
  hung_up = 129,      ///< SIGHUP
  interrupted = 130,  ///< SIGINT
  reader_gone = 141,  ///< the reader of standard output has gone, as if SIGPIPE had ended the program
  terminated = 143,   ///< SIGTERM
};

/// \param signal     the signal that asked the solve to stop, 0 if none
/// \param exit_zero  whether --exit-zero turns "not converged" and "failed" into success
[[nodiscard]] ExitCode exit_code_of(Status status, int signal, bool exit_zero);

/// What the user is told about an exception.
struct Failure {
  ExitCode code = ExitCode::internal_error;
  std::string message;
  std::string hint;  ///< may be empty
};

[[nodiscard]] Failure classify(const std::exception& error);

/// "solve: error: ..." and, if there is one, "  hint: ..." on the next line; nothing where a reader has gone.
void print_failure(const Failure& failure);
/// The same for std::bad_alloc, without allocating. \returns out_of_memory
ExitCode print_no_memory() noexcept;
/// Ends the program with out_of_memory where std::bad_alloc leaves a destructor: those of JSON documents allocate.
void install_terminate_handler() noexcept;
void print_warnings(const support::Warnings& warnings);

/// The only way to standard error. What cannot be written there is lost: a closed or full standard error must not cost
/// a result.
void write_stderr(std::string_view text) noexcept;

}  // namespace tessera::cli
