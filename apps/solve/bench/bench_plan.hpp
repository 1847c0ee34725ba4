/// \file
/// The runs of a benchmark: matrices of folders, lists and recipes, times configurations.
#pragma once

#include "options.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

/// A matrix of a benchmark. The same contents have the same identity, wherever they lie.
struct BenchMatrix {
  std::string name;      ///< path or recipe, as the user or a folder names it
  std::string identity;  ///< "16487 bytes, XXH3 0123456789abcdef", or the recipe in full; empty where unreadable
  bool is_file = true;
};

/// Method, preconditioner and kernel, as the options of run name them.
struct BenchConfiguration {
  std::string method = "auto";
  std::string precond = "auto";
  std::string kernel = "auto";

  [[nodiscard]] bool operator==(const BenchConfiguration&) const = default;
};

/// "cg jacobi merbit"; a kernel that is auto is left out, and so is a preconditioner where both are.
[[nodiscard]] std::string to_string(const BenchConfiguration& configuration);

/// \param words folders (searched to their bottom, in the order of names), lists (.txt, .list: one matrix or recipe per
///              line, # begins a comment, paths are relative to the list), matrices, and recipes of generators. A file
///              that cannot be read is taken: its runs say so.
/// \throws UsageError for a word that is neither; ParseError with the line of a list
[[nodiscard]] std::vector<BenchMatrix> bench_matrices(const std::vector<std::string>& words, std::uint64_t seed);

/// All methods with all preconditioners and kernels that they take: direct brings its own, lsmr and cgls take none and
/// jacobi.
/// \throws OptionError for an unknown word and one given twice
[[nodiscard]] std::vector<BenchConfiguration> bench_configurations(const Options& options);

/// The options that all runs share and that are not left to their defaults, limits aside.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> shared_settings(const Options& options);
/// The same as text: "rtol=1e-10 seed=7".
[[nodiscard]] std::string shared_options(const Options& options);

/// A command for a process of its own: what `options` of bench or tune share with it, the matrix, and `more`; one
/// document on standard output.
[[nodiscard]] Options process_options(Command command, const Options& options, const BenchMatrix& matrix,
                                      const Layer& more);

/// `run` with this configuration, as process_options() makes it.
[[nodiscard]] Options run_options(const Options& options, const BenchMatrix& matrix,
                                  const BenchConfiguration& configuration, Layer more = {});

/// A setting that counts as read from a file: typed, --restart would be refused with a method that has none.
[[nodiscard]] inline Setting setting_of(std::string text) { return {std::move(text), SettingSource::config_file, {}}; }

}  // namespace tessera::cli
