// The runs of a benchmark.
#include "bench_plan.hpp"

#include "errors.hpp"
#include "option_values.hpp"
#include "precond_spec.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <system_error>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

[[nodiscard]] bool ends_in(std::string_view name, std::string_view endings) {
  const std::vector<std::string> each = alternatives(endings);
  return std::any_of(each.begin(), each.end(), [&](const std::string& ending) { return name.ends_with(ending); });
}

[[nodiscard]] bool is_list(std::string_view name) { return ends_in(name, ".txt|.list"); }

/// Empty for a file that cannot be read.
[[nodiscard]] std::string identity_of_file(const std::string& path) {
  struct Free {
    void operator()(XXH3_state_t* state) const noexcept { static_cast<void>(XXH3_freeState(state)); }
  };
  std::ifstream file(path, std::ios::binary);
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  if (!file || !state || XXH3_64bits_reset(state.get()) != XXH_OK) return {};
  std::vector<char> piece(std::size_t{1} << 20);
  std::uint64_t bytes = 0;
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto read = static_cast<std::size_t>(file.gcount());
    static_cast<void>(XXH3_64bits_update(state.get(), piece.data(), read));
    bytes += read;
  }
  if (file.bad()) return {};
  return fmt::format("{} bytes, XXH3 {:016x}", bytes, XXH3_64bits_digest(state.get()));
}

/// A file or a recipe. \param name as it is shown \param path where the file is \throws InvalidArgument for neither
[[nodiscard]] BenchMatrix matrix_of(const std::string& name, const std::string& path, std::uint64_t seed) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return {path, identity_of_file(path), true};
  // A name that looks like a file was meant to be one.
  if (name.find('/') != std::string::npos || ends_in(name, command_files(Command::run))) {
    throw InvalidArgument(fmt::format("there is no file \"{}\"", path));
  }
  return {name, to_string(parse_generator(name, seed)), false};
}

[[nodiscard]] std::vector<BenchMatrix> matrices_of_folder(const std::string& folder) {
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().lexically_normal().string();
    if (entry.is_regular_file() && ends_in(path, command_files(Command::run))) paths.push_back(path);
  }
  if (paths.empty()) {
    throw UsageError(fmt::format("{}: no matrix in this folder", folder),
                     fmt::format("names of matrices end in {}", command_files(Command::run)));
  }
  std::sort(paths.begin(), paths.end());
  std::vector<BenchMatrix> matrices;
  matrices.reserve(paths.size());
  for (const std::string& path : paths) matrices.push_back({path, identity_of_file(path), true});
  return matrices;
}

[[nodiscard]] std::string trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return std::string(line);
}

[[nodiscard]] std::vector<BenchMatrix> matrices_of_list(const std::string& list, std::uint64_t seed) {
  std::ifstream file(list, std::ios::binary);
  if (!file) throw IoError(fmt::format("cannot read {}", list));
  std::vector<BenchMatrix> matrices;
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::string word = trimmed(line);
    if (word.empty()) continue;
    const fs::path path = fs::path(word).is_absolute() ? fs::path(word) : fs::path(list).parent_path() / word;
    try {
      matrices.push_back(matrix_of(word, path.string(), seed));
    } catch (const InvalidArgument& error) {
      throw ParseError(list, number, 1, error.what());
    }
  }
  if (matrices.empty()) throw UsageError(fmt::format("{}: no matrix in this list", list));
  return matrices;
}

[[nodiscard]] std::vector<BenchMatrix> matrices_of(const std::string& word, std::uint64_t seed) {
  std::error_code ignored;
  if (fs::is_directory(word, ignored)) return matrices_of_folder(word);
  if (word == "-") throw UsageError("bench reads a matrix more than once, so it takes none from standard input");
  if (is_list(word) && fs::exists(word, ignored)) return matrices_of_list(word, seed);
  try {
    return {matrix_of(word, word, seed)};
  } catch (const InvalidArgument& error) {
    throw UsageError(error.what(),
                     "a folder, a list (.txt, .list), a matrix, or a recipe as solve list generators has them");
  }
}

[[nodiscard]] std::vector<std::string> method_words(const Options& options) {
  std::vector<std::string> names;
  for (const support::Method method : support::methods()) names.push_back(to_string(method));
  const std::vector<std::string_view> known(names.begin(), names.end());
  return parse_word_list("methods", *options.text("methods"), known);
}

[[nodiscard]] std::vector<std::string> kernel_words(const Options& options) {
  return parse_word_list("kernels", *options.text("kernels"), kernel_names());
}

[[nodiscard]] std::vector<std::string> precond_words_of(const Options& options) {
  std::vector<std::string> words;
  const std::string text = *options.text("preconds");
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    PrecondSettings unused;
    if (word != "auto") read_precond("preconds", word, unused);
    if (std::find(words.begin(), words.end(), word) != words.end()) {
      throw OptionError("preconds", fmt::format("option --preconds: {} is given twice", word));
    }
    words.push_back(std::move(word));
  }
  return words;
}

/// Direct factors are a preconditioner of their own, and least squares scale columns or not.
[[nodiscard]] bool takes(const std::string& method, const std::string& precond) {
  if (method == "direct") return precond == "auto";
  if (method == "lsmr" || method == "cgls") return precond == "auto" || precond == "none" || precond == "jacobi";
  return true;
}

/// Those of the list that the method takes; auto where that is none.
[[nodiscard]] std::vector<std::string> preconds_of(const std::string& method, std::vector<std::string> preconds) {
  std::erase_if(preconds, [&](const std::string& precond) { return !takes(method, precond); });
  if (preconds.empty()) preconds.emplace_back("auto");
  return preconds;
}

/// Options that say how runs are made, shown and limited, not what they compute.
[[nodiscard]] bool is_of_the_command(const OptionSpec& spec) {
  constexpr std::array others{"json", "quiet", "color", "max-time", "mem-limit", "cache", "output"};
  return !is_configurable(spec) || std::find(others.begin(), others.end(), spec.name) != others.end();
}

/// What run and the command have in common.
[[nodiscard]] std::vector<const OptionSpec*> options_in_common(const Options& options) {
  std::vector<const OptionSpec*> result;
  constexpr std::array problems{"poisson2d", "poisson3d", "convdiff", "generate"};
  for (const OptionSpec& spec : option_table()) {
    const bool names_problem = std::find(problems.begin(), problems.end(), spec.name) != problems.end();
    const bool is_shared = uses(options.command(), spec) && find_option(Command::run, spec.name) != nullptr;
    if (is_shared && !is_of_the_command(spec) && !names_problem) result.push_back(&spec);
  }
  return result;
}

}  // namespace

std::string to_string(const BenchConfiguration& configuration) {
  std::string text = configuration.method;
  const bool has_kernel = configuration.kernel != "auto";
  if (configuration.precond != "auto" || has_kernel) text += ' ' + configuration.precond;
  if (has_kernel) text += ' ' + configuration.kernel;
  return text;
}

std::vector<BenchMatrix> bench_matrices(const std::vector<std::string>& words, std::uint64_t seed) {
  std::vector<BenchMatrix> matrices;
  for (const std::string& word : words) {
    for (BenchMatrix& matrix : matrices_of(word, seed)) {
      const bool known = std::any_of(matrices.begin(), matrices.end(), [&](const BenchMatrix& each) {
        return matrix.identity.empty() ? each.name == matrix.name : each.identity == matrix.identity;
      });
      if (!known) matrices.push_back(std::move(matrix));
    }
  }
  return matrices;
}

std::vector<BenchConfiguration> bench_configurations(const Options& options) {
  const std::vector<std::string> preconds = precond_words_of(options);
  const std::vector<std::string> kernels = kernel_words(options);
  std::vector<BenchConfiguration> result;
  for (const std::string& method : method_words(options)) {
    for (const std::string& precond : preconds_of(method, preconds)) {
      for (const std::string& kernel : kernels) result.push_back({method, precond, kernel});
    }
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> shared_settings(const Options& options) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const OptionSpec* spec : options_in_common(options)) {
    if (!options.given(spec->name)) continue;
    const std::string text = *options.text(spec->name);
    // 1e-3 and 0.001 are the same.
    const auto number = spec->kind == ValueKind::number ? parse_number(text) : std::nullopt;
    result.emplace_back(spec->name, number ? fmt::format("{}", *number) : text);
  }
  return result;
}

std::string shared_options(const Options& options) {
  std::string text;
  for (const auto& [name, value] : shared_settings(options)) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

Options process_options(Command command, const Options& options, const BenchMatrix& matrix, const Layer& more) {
  Layer settings = more;
  for (const auto& [name, value] : shared_settings(options)) {
    if (find_option(command, name) != nullptr) settings.emplace(name, setting_of(value));
  }
  for (const char* name : {"mem-limit", "cache"}) {
    if (options.given(name)) settings.emplace(name, setting_of(*options.text(name)));
  }
  settings.emplace("json", setting_of("-"));
  settings.emplace("quiet", setting_of("1"));
  settings.emplace(matrix.is_file ? "matrix" : "generate", setting_of(matrix.name));
  std::vector<std::string> words;
  if (matrix.is_file) words.push_back(matrix.name);
  return {command, std::move(words), std::move(settings)};
}

Options run_options(const Options& options, const BenchMatrix& matrix, const BenchConfiguration& configuration,
                    Layer more) {
  more.emplace("method", setting_of(configuration.method));
  more.emplace("precond", setting_of(configuration.precond));
  more.emplace("spmv", setting_of(configuration.kernel));
  more.emplace("error-gate", setting_of("off"));  // what follows a solve is no part of its time
  return process_options(Command::run, options, matrix, more);
}

}  // namespace tessera::cli
