/// \file
/// Runs a program and catches what it prints and how it ends.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::testing {

struct ProcessResult {
  int exit_code = -1;  ///< -1 when it did not exit by itself
  int signal = 0;      ///< that ended it, 0 if none
  bool timed_out = false;
  std::string out;
  std::string err;
  std::uint64_t peak_bytes = 0;  ///< largest resident size
};

/// A signal to send once standard error holds some text.
struct SignalWhen {
  int signal = 0;
  std::string stderr_holds;
};

struct ProcessOptions {
  std::chrono::seconds timeout{120};
  SignalWhen signal_when;
  std::filesystem::path directory;     ///< to run in; empty: the current one
  std::vector<std::string> variables;  ///< "NAME=VALUE", beside those of this process
  bool stdout_to_full_disk = false;
  /// As on a machine without GPUs, so that what a command prints does not depend on the machine.
  bool hide_gpus = true;
};

/// Runs arguments[0] with the rest as its arguments. Kills it when the time is over.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

}  // namespace tessera::testing
