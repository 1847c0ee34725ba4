#include "problem.hpp"

#include "errors.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_cache.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace tessera::cli {

namespace {

/// The structure alone: every stored entry becomes a link.
template <class T>
[[nodiscard]] Csr<T> without_values(const Csr<T>& matrix) {
  const CsrView<T> view = matrix.view();
  return Csr<T>::pattern(view.rows, view.cols, Array<offset_t>::copy_of(view.row_offsets),
                         Array<index_t>::copy_of(view.columns), Check::trusted);
}

[[nodiscard]] ReadOptions read_options(const ProblemSettings& settings, const MachineSettings& machine) {
  ReadOptions options;
  options.duplicates = settings.duplicates;
  options.device = machine.host;
  options.memory_limit_bytes = machine.host_limit_bytes();
  return options;
}

template <class T>
[[nodiscard]] LoadedMatrix<T> read_through_cache(const ProblemSettings& settings, const MachineSettings& machine) {
  CacheOptions options;
  options.read = read_options(settings, machine);
  if (settings.caching == Caching::directory) options.directory = settings.cache_directory;
  std::error_code ignored;
  const bool existed = std::filesystem::exists(cache_path(settings.path, options.directory), ignored);
  CachedMatrix<T> cached = read_cached<T>(settings.path, options);
  const bool as_expected = cached.from_cache || (cached.written && !existed);
  return {std::move(cached.file),
          CacheUse{cached.cache.string(), cached.from_cache, cached.written, cached.note, !as_expected}, 0.0};
}

template <class T>
[[nodiscard]] LoadedMatrix<T> read_file(const ProblemSettings& settings, const MachineSettings& machine) {
  // A pipe can be opened only once, so it is not asked what it holds. A binary file needs no cache.
  std::error_code ignored;
  const bool caches = settings.caching != Caching::off &&
                      !(std::filesystem::is_regular_file(settings.path, ignored) && is_binary_matrix(settings.path));
  if (caches) return read_through_cache<T>(settings, machine);
  return {read_matrix<T>(settings.path, read_options(settings, machine)), std::nullopt, 0.0};
}

template <class T>
[[nodiscard]] LoadedMatrix<T> make_matrix(const ProblemSettings& settings, const MachineSettings& machine) {
  std::optional<ValueStorage> storage;
  if (settings.unweighted) storage = ValueStorage::pattern;
  support::require_memory(machine.host_limit_bytes(), 0, generated_bytes<T>(settings.generator, storage),
                          "the matrix of " + settings.name);
  LoadedMatrix<T> made;
  made.file.matrix = generate<T>(settings.generator, storage);
  const Csr<T>& matrix = made.file.matrix;
  made.file.header = {MatrixMarketFormat::coordinate,
                      matrix.is_pattern() ? MatrixMarketField::pattern : MatrixMarketField::real,
                      MatrixMarketSymmetry::general,
                      matrix.rows(),
                      matrix.cols(),
                      matrix.nnz()};
  return made;
}

/// A file name as a shell takes it.
[[nodiscard]] std::string shell_word(const std::string& name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!name.empty() && name.find_first_not_of(plain) == std::string::npos) return name;
  std::string word = "'";
  for (const char c : name) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

std::string source_words(const CommonOutcome& outcome) {
  const bool is_recipe = outcome.problem.find(':') != std::string::npos;
  const std::string words = outcome.from_file ? shell_word(outcome.problem)
                            : is_recipe       ? "--generate " + outcome.problem
                                              : "--" + outcome.problem;
  return words + (outcome.transposed ? " --transpose" : "");
}

template <class T>
void report_input(const ProblemSettings& settings, const MachineSettings& machine, const InputMatrix<T>& problem,
                  CommonOutcome& outcome) {
  outcome.problem = problem.name;
  outcome.from_file = settings.source == Source::file;
  outcome.cache = problem.cache;
  outcome.transposed = settings.transposed;
  outcome.duplicates = problem.duplicates;
  outcome.first_rounded = problem.first_rounded;
  outcome.pattern = problem.matrix->is_pattern();
  outcome.precision = machine.precision;
  outcome.device = machine.device;
  outcome.device_reason = machine.device_reason;
  outcome.threads = machine.host.threads();
  outcome.memory.matrix = problem.matrix->bytes();
}

template <class T>
void describe_matrix(const CsrView<T>& matrix, const OutputSettings& output, const Device& host,
                     CommonOutcome& outcome) {
  outcome.matrix = statistics(matrix, host);
  if (!output.report) return;
  constexpr index_t most_cells = 128;
  const double longer = std::max(1.0, static_cast<double>(std::max(matrix.rows, matrix.cols)));
  const auto cells = [&](index_t length) {
    const auto part = std::lround(most_cells * static_cast<double>(length) / longer);
    return std::clamp(static_cast<int>(part), 1, std::max(1, length));
  };
  outcome.density = spy(matrix, cells(matrix.rows), cells(matrix.cols), host);
}

void warn_about_duplicates(const CommonOutcome& outcome, Warnings& warnings) {
  if (outcome.duplicates == 0) return;
  warnings.push_back(
      {"W001", fmt::format("{} repeated entries of {} {}; --duplicates error refuses them", outcome.duplicates,
                           outcome.problem, outcome.pattern ? "count once" : "were summed")});
}

void warn_about_rounding(const CommonOutcome& outcome, Warnings& warnings) {
  if (!outcome.first_rounded) return;
  const auto& [file_line, value] = *outcome.first_rounded;
  const bool is_double = outcome.precision == Precision::fp64;
  const double rounded = is_double ? static_cast<double>(value) : static_cast<double>(static_cast<float>(value));
  warnings.push_back({"W025", fmt::format("{}:{}: the integer {} was rounded to {:.0f}: {} holds integers up to 2^{}; "
                                          "others may follow",
                                          outcome.problem, file_line, value, rounded, is_double ? "fp64" : "fp32",
                                          is_double ? 53 : 24)});
}

void warn_about_cache(const CommonOutcome& outcome, Warnings& warnings) {
  if (!outcome.cache || !outcome.cache->worth_a_warning) return;
  warnings.push_back(
      {"W009", fmt::format("{} was read instead of its cache: {}", outcome.problem, outcome.cache->note)});
}

std::string loading_text(const ProblemSettings& settings) {
  return (settings.source == Source::file ? "reading " : "generating ") + settings.name;
}

template <class T>
LoadedMatrix<T> load_matrix(const ProblemSettings& settings, const MachineSettings& machine) {
  const Stopwatch timer;
  LoadedMatrix<T> loaded =
      settings.source == Source::file ? read_file<T>(settings, machine) : make_matrix<T>(settings, machine);
  if (settings.unweighted && !loaded.file.matrix.is_pattern()) {
    loaded.file.matrix = without_values(loaded.file.matrix);
    loaded.file.header.field = MatrixMarketField::pattern;
    if (loaded.file.header.symmetry == MatrixMarketSymmetry::skew_symmetric) {
      loaded.file.header.symmetry = MatrixMarketSymmetry::symmetric;
    }
    loaded.file.explicit_zeros = 0;
    loaded.file.first_rounded.reset();
  }
  loaded.read_ms = timer.milliseconds();
  return loaded;
}

template <class T>
Csr<T> transposed(const Csr<T>& matrix, const std::string& name, const MachineSettings& machine) {
  support::require_memory(machine.host_limit_bytes(), matrix.bytes(), matrix.bytes(), "the transpose of " + name);
  return transpose(matrix.view(), machine.host);
}

template <class T>
InputMatrix<T> load_input(const ProblemSettings& settings, const MachineSettings& machine) {
  LoadedMatrix<T> loaded = load_matrix<T>(settings, machine);
  InputMatrix<T> problem;
  problem.name = settings.name;
  problem.duplicates = loaded.file.duplicates;
  problem.first_rounded = loaded.file.first_rounded;
  if (settings.source == Source::file) problem.header = loaded.file.header;
  problem.cache = std::move(loaded.cache);
  problem.labels = std::move(loaded.file.labels);
  problem.matrix = std::make_shared<const Csr<T>>(std::move(loaded.file.matrix));
  const Stopwatch timer;
  if (settings.transposed) {
    problem.matrix = std::make_shared<const Csr<T>>(transposed(*problem.matrix, problem.name, machine));
  }
  problem.read_ms = loaded.read_ms + timer.milliseconds();
  return problem;
}

template <class T>
std::vector<T> read_vector_of(const std::string& path, std::int64_t n, const MachineSettings& machine,
                              const std::string& what, std::string_view of) {
  ReadOptions options;
  options.device = machine.host;
  options.memory_limit_bytes = machine.host_limit_bytes();
  try {
    return read_vector<T>(path, options, n);
  } catch (const DimensionError& error) {
    throw DimensionError(fmt::format("{} {}, the {} of the matrix", what, error.what(), of));
  }
}

namespace {

/// x for which a right-hand side of the settings is A x; nothing where it is not made that way.
template <class T>
[[nodiscard]] std::optional<std::vector<T>> exact_solution(const VectorSettings& rhs, std::int64_t n,
                                                           std::uint64_t seed) {
  if (rhs.kind == VectorSettings::Kind::a_ones) return std::vector<T>(static_cast<std::size_t>(n), T{1});
  if (rhs.kind == VectorSettings::Kind::a_random) return support::random_vector<T>(n, seed);
  return std::nullopt;
}

}  // namespace

template <class T>
std::optional<KnownError> known_error(std::span<const T> x, const VectorSettings& rhs, std::uint64_t seed) {
  const auto exact = exact_solution<T>(rhs, static_cast<std::int64_t>(x.size()), seed);
  if (!exact) return std::nullopt;
  KnownError error;
  double squares = 0.0;
  double exact_squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto wanted = static_cast<double>((*exact)[i]);
    const double each = std::fabs(static_cast<double>(x[i]) - wanted);
    // NaN is larger than anything.
    if (!(each <= error.largest)) error.largest = each;
    squares += each * each;
    exact_squares += wanted * wanted;
  }
  error.relative = squares == 0.0 ? 0.0 : std::sqrt(squares / exact_squares);
  return error;
}

template <class T>
std::vector<T> make_vector(const VectorSettings& settings, const LinearOperator<T>& A, const MachineSettings& machine,
                           std::uint64_t seed, const std::string& what) {
  using Kind = VectorSettings::Kind;
  const std::int64_t n = A.rows();
  if (settings.kind == Kind::file) return read_vector_of<T>(settings.path, n, machine, what);
  if (settings.kind == Kind::random) return support::random_vector<T>(n, seed);
  std::vector<T> vector(static_cast<std::size_t>(n), T{0});
  if (settings.kind == Kind::ones) std::fill(vector.begin(), vector.end(), T{1});
  if (settings.kind == Kind::unit) {
    if (settings.index >= n) {
      throw UsageError(fmt::format("option --rhs unit:{}: the matrix has {} rows", settings.index + 1, n));
    }
    vector[static_cast<std::size_t>(settings.index)] = T{1};
  }
  if (const auto exact = exact_solution<T>(settings, A.cols(), seed)) {
    const Device device = A.device();
    const auto solution = Array<T>::copy_of(*exact, device);
    Array<T> image(n, Init::none, device);
    A.apply(solution.span(), image.span());
    detail::copy_bytes(Device{}, vector.data(), device, image.data(), image.bytes());
  }
  return vector;
}

namespace {

/// Whether A ones is 0 up to the rounding of its sums, and A is not: ones are in the null space of A.
template <class T>
[[nodiscard]] bool is_rounding(const CsrView<T>& a, std::span<const T> image) {
  bool zero = true;
  for (index_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    double magnitude = 0.0;
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      magnitude += std::fabs(static_cast<double>(a.value(k)));
    }
    const auto terms = static_cast<double>(a.row_offsets[row + 1] - a.row_offsets[row]);
    const double rounding = terms * static_cast<double>(std::numeric_limits<T>::epsilon()) * magnitude;
    if (!(std::fabs(static_cast<double>(image[row])) <= rounding)) return false;
    zero = zero && magnitude == 0.0;
  }
  return !zero;
}

}  // namespace

template <class T>
std::vector<T> make_rhs(VectorSettings& settings, bool is_named, const CsrView<T>& matrix, const LinearOperator<T>& A,
                        const MachineSettings& machine) {
  std::vector<T> b = make_vector<T>(settings, A, machine, machine.seed, "right-hand side");
  if (is_named || !is_rounding<T>(matrix, b)) return b;
  settings.kind = VectorSettings::Kind::a_random;
  return make_vector<T>(settings, A, machine, machine.seed, "right-hand side");
}

void warn_about_replaced_rhs(Warnings& warnings) {
  warnings.push_back({"W003", "A times ones is 0, so the right-hand side is A times random numbers (-b Arandom)"});
}

std::string describe(const VectorSettings& settings) {
  using Kind = VectorSettings::Kind;
  switch (settings.kind) {
    case Kind::zero:
      return "zero";
    case Kind::ones:
      return "ones";
    case Kind::a_ones:
      return "A*ones";
    case Kind::a_random:
      return "A*random";
    case Kind::random:
      return settings.columns == 1 ? "random" : fmt::format("random:{}", settings.columns);
    case Kind::unit:
      return fmt::format("unit:{}", settings.index + 1);
    case Kind::rhs:
      return "rhs";
    case Kind::file:
      break;
  }
  return settings.path;
}

template LoadedMatrix<float> load_matrix(const ProblemSettings&, const MachineSettings&);
template LoadedMatrix<double> load_matrix(const ProblemSettings&, const MachineSettings&);
template Csr<float> transposed(const Csr<float>&, const std::string&, const MachineSettings&);
template Csr<double> transposed(const Csr<double>&, const std::string&, const MachineSettings&);
template InputMatrix<float> load_input(const ProblemSettings&, const MachineSettings&);
template InputMatrix<double> load_input(const ProblemSettings&, const MachineSettings&);
template void report_input(const ProblemSettings&, const MachineSettings&, const InputMatrix<float>&, CommonOutcome&);
template void report_input(const ProblemSettings&, const MachineSettings&, const InputMatrix<double>&, CommonOutcome&);
template void describe_matrix(const CsrView<float>&, const OutputSettings&, const Device&, CommonOutcome&);
template void describe_matrix(const CsrView<double>&, const OutputSettings&, const Device&, CommonOutcome&);
template std::vector<float> read_vector_of(const std::string&, std::int64_t, const MachineSettings&, const std::string&,
                                           std::string_view);
template std::vector<double> read_vector_of(const std::string&, std::int64_t, const MachineSettings&,
                                            const std::string&, std::string_view);
template std::optional<KnownError> known_error(std::span<const float>, const VectorSettings&, std::uint64_t);
template std::optional<KnownError> known_error(std::span<const double>, const VectorSettings&, std::uint64_t);
template std::vector<float> make_vector(const VectorSettings&, const LinearOperator<float>&, const MachineSettings&,
                                        std::uint64_t, const std::string&);
template std::vector<double> make_vector(const VectorSettings&, const LinearOperator<double>&, const MachineSettings&,
                                         std::uint64_t, const std::string&);
template std::vector<float> make_rhs(VectorSettings&, bool, const CsrView<float>&, const LinearOperator<float>&,
                                     const MachineSettings&);
template std::vector<double> make_rhs(VectorSettings&, bool, const CsrView<double>&, const LinearOperator<double>&,
                                      const MachineSettings&);

}  // namespace tessera::cli
