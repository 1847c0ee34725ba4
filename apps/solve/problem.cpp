#include "problem.hpp"

#include "timer.hpp"
#include "usage_error.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>
#include <utility>

namespace tessera::cli {

namespace {

/// Flow of --convdiff: no two directions alike, moderate enough for every method.
constexpr Peclet convdiff_peclet{1.0, 0.5, 0.25};

[[nodiscard]] int scale_of(std::int64_t vertices) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(vertices - 1)));
}

struct ModelSize {
  double rows = 0.0;
  double entries_per_row = 0.0;
};

[[nodiscard]] ModelSize model_size(const ProblemSettings& settings) {
  const auto n = static_cast<double>(settings.size);
  switch (settings.source) {
    case Source::poisson2d:
      return {n * n, 5.0};
    case Source::poisson3d:
    case Source::convdiff:
      return {n * n * n, 7.0};
    case Source::powerlaw:
      return {static_cast<double>(std::uint64_t{1} << scale_of(settings.size)), 16.0};
    case Source::file:
      break;
  }
  return {};
}

/// Matrix of a model problem before it is made; never more than the rows that an index can count need.
template <class T>
[[nodiscard]] std::uint64_t predicted_bytes(const ProblemSettings& settings) {
  const ModelSize size = model_size(settings);
  const bool pattern = settings.source == Source::powerlaw;
  const double entry = sizeof(index_t) + (pattern ? 0.0 : double{sizeof(T)});
  // An R-MAT graph is made from a list of drawn edges, which coexists with the result.
  const double copies = pattern ? 3.0 : 1.0;
  const double bytes = size.rows * (double{sizeof(offset_t)} + size.entries_per_row * entry * copies);
  constexpr double most = 1e18;
  return static_cast<std::uint64_t>(std::min(bytes, most));
}

template <class T>
[[nodiscard]] Csr<T> generate(const ProblemSettings& settings, const MachineSettings& machine) {
  const std::int64_t n = settings.size;
  switch (settings.source) {
    case Source::poisson2d:
      return poisson2d<T>(n, n);
    case Source::poisson3d:
      return poisson3d<T>(n, n, n);
    case Source::convdiff:
      return convection_diffusion<T>(n, n, n, convdiff_peclet);
    case Source::powerlaw: {
      RmatOptions rmat_options;
      rmat_options.scale = scale_of(n);
      rmat_options.seed = machine.seed;
      return rmat<T>(rmat_options);
    }
    case Source::file:
      break;
  }
  return {};
}

[[nodiscard]] std::string problem_name(const ProblemSettings& settings) {
  switch (settings.source) {
    case Source::poisson2d:
      return fmt::format("poisson2d {}", settings.size);
    case Source::poisson3d:
      return fmt::format("poisson3d {}", settings.size);
    case Source::convdiff:
      return fmt::format("convdiff {}", settings.size);
    case Source::powerlaw:
      return fmt::format("powerlaw {}", settings.size);
    case Source::file:
      break;
  }
  return settings.path;
}

/// The structure alone: every stored entry becomes a link.
template <class T>
[[nodiscard]] Csr<T> without_values(const Csr<T>& matrix) {
  const CsrView<T> view = matrix.view();
  return Csr<T>::pattern(view.rows, view.cols, Array<offset_t>::copy_of(view.row_offsets),
                         Array<index_t>::copy_of(view.columns), Check::trusted);
}

}  // namespace

std::string loading_text(const ProblemSettings& settings) {
  return (settings.source == Source::file ? "reading " : "generating ") + problem_name(settings);
}

std::uint64_t memory_budget(const MachineSettings& machine) {
  return machine.memory_limit_bytes != 0 ? machine.memory_limit_bytes : available_host_memory_bytes();
}

void require_memory(const MachineSettings& machine, std::uint64_t needed, const std::string& purpose) {
  const std::uint64_t budget = memory_budget(machine);
  if (budget != 0 && needed > budget) throw OutOfMemory(needed, budget, purpose);
}

template <class T>
Problem<T> load_problem(const ProblemSettings& settings, const MachineSettings& machine) {
  const Timer timer;
  Problem<T> problem;
  problem.name = problem_name(settings);
  if (settings.source == Source::file) {
    ReadOptions options;
    options.duplicates = settings.duplicates;
    options.device = machine.device;
    options.memory_limit_bytes = machine.memory_limit_bytes;
    MatrixMarketMatrix<T> file = read_matrix_market<T>(settings.path, options);
    problem.duplicates = file.duplicates;
    problem.header = file.header;
    problem.matrix = std::make_shared<const Csr<T>>(std::move(file.matrix));
  } else {
    require_memory(machine, predicted_bytes<T>(settings), "the matrix of " + problem.name);
    problem.matrix = std::make_shared<const Csr<T>>(generate<T>(settings, machine));
  }
  if (settings.unweighted && !problem.matrix->is_pattern()) {
    problem.matrix = std::make_shared<const Csr<T>>(without_values(*problem.matrix));
  }
  problem.read_ms = timer.milliseconds();
  return problem;
}

template <class T>
std::vector<T> random_vector(std::int64_t n, std::uint64_t seed) {
  std::vector<T> vector(static_cast<std::size_t>(n));
  std::mt19937_64 engine(seed);
  constexpr double step = 0x1p-52;
  for (T& value : vector) value = static_cast<T>(static_cast<double>(engine() >> 11) * step - 1.0);
  return vector;
}

template <class T>
std::vector<T> read_vector_of(const std::string& path, std::int64_t n, const MachineSettings& machine,
                              const std::string& what) {
  ReadOptions options;
  options.device = machine.device;
  options.memory_limit_bytes = machine.memory_limit_bytes;
  std::vector<T> vector = read_vector<T>(path, options);
  if (static_cast<std::int64_t>(vector.size()) != n) {
    throw DimensionError(fmt::format("{} {} has {} elements, the matrix has {} rows", what, path, vector.size(), n));
  }
  return vector;
}

template <class T>
std::vector<T> make_vector(const VectorSettings& settings, const LinearOperator<T>& A, const MachineSettings& machine,
                           std::uint64_t seed, const std::string& what) {
  using Kind = VectorSettings::Kind;
  const std::int64_t n = A.rows();
  if (settings.kind == Kind::file) return read_vector_of<T>(settings.path, n, machine, what);
  if (settings.kind == Kind::random) return random_vector<T>(n, seed);
  std::vector<T> vector(static_cast<std::size_t>(n), T{0});
  if (settings.kind == Kind::ones) std::fill(vector.begin(), vector.end(), T{1});
  if (settings.kind == Kind::unit) {
    if (settings.index >= n) {
      throw UsageError(fmt::format("option --rhs unit:{}: the matrix has {} rows", settings.index + 1, n));
    }
    vector[static_cast<std::size_t>(settings.index)] = T{1};
  }
  if (settings.kind == Kind::a_ones) {
    const std::vector<T> ones(static_cast<std::size_t>(A.cols()), T{1});
    A.apply(ones, vector);
  }
  return vector;
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
    case Kind::random:
      return "random";
    case Kind::unit:
      return fmt::format("unit:{}", settings.index + 1);
    case Kind::rhs:
      return "rhs";
    case Kind::file:
      break;
  }
  return settings.path;
}

template Problem<float> load_problem(const ProblemSettings&, const MachineSettings&);
template Problem<double> load_problem(const ProblemSettings&, const MachineSettings&);
template std::vector<float> random_vector(std::int64_t, std::uint64_t);
template std::vector<double> random_vector(std::int64_t, std::uint64_t);
template std::vector<float> read_vector_of(const std::string&, std::int64_t, const MachineSettings&,
                                           const std::string&);
template std::vector<double> read_vector_of(const std::string&, std::int64_t, const MachineSettings&,
                                            const std::string&);
template std::vector<float> make_vector(const VectorSettings&, const LinearOperator<float>&, const MachineSettings&,
                                        std::uint64_t, const std::string&);
template std::vector<double> make_vector(const VectorSettings&, const LinearOperator<double>&, const MachineSettings&,
                                         std::uint64_t, const std::string&);

}  // namespace tessera::cli
