/// \file
/// The matrix of a run, read or generated, and the vectors that go with it.
#pragma once

#include "outcome.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/matrix_market.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

template <class T>
struct Problem {
  std::shared_ptr<const Csr<T>> matrix;
  std::string name;                          ///< file or generator, for messages
  offset_t duplicates = 0;                   ///< entries summed into others
  std::optional<MatrixMarketHeader> header;  ///< of a file
  std::optional<CacheUse> cache;             ///< where one was asked for
  double read_ms = 0.0;                      ///< reading or generating
};

/// A matrix as its file or its generator gives it.
template <class T>
struct LoadedMatrix {
  MatrixMarketMatrix<T> file;
  std::optional<CacheUse> cache;
  double read_ms = 0.0;
};

/// Reads (text, binary, or through a cache) or generates. Throws as load_problem.
template <class T>
[[nodiscard]] LoadedMatrix<T> load_matrix(const ProblemSettings& settings, const MachineSettings& machine);

/// The same, shared.
/// \throws what the reader and the generators throw; OutOfMemory before a generated matrix would exceed the limit
template <class T>
[[nodiscard]] Problem<T> load_problem(const ProblemSettings& settings, const MachineSettings& machine);

/// What every command says of its problem; statistics are not taken here.
template <class T>
void take_problem(const ProblemSettings& settings, const MachineSettings& machine, const Problem<T>& problem,
                  CommonOutcome& outcome);

/// W001, when entries of a matrix were merged.
void warn_about_duplicates(const CommonOutcome& outcome, Warnings& warnings);

/// W009, when a cache could not be used or written.
void warn_about_cache(const CommonOutcome& outcome, Warnings& warnings);

/// "reading A.mtx", "generating poisson3d 64".
[[nodiscard]] std::string loading_text(const ProblemSettings& settings);

/// A vector of `n` elements as the settings say. Kind::rhs is not handled here: the caller has that vector.
/// \param A     for Kind::a_ones
/// \param what  name of the vector in messages
/// \throws UsageError for a unit vector outside [1, n]; DimensionError for a file of another length
template <class T>
[[nodiscard]] std::vector<T> make_vector(const VectorSettings& settings, const LinearOperator<T>& A,
                                         const MachineSettings& machine, std::uint64_t seed, const std::string& what);

/// A vector file whose length must be n. \throws DimensionError naming both lengths
template <class T>
[[nodiscard]] std::vector<T> read_vector_of(const std::string& path, std::int64_t n, const MachineSettings& machine,
                                            const std::string& what);

/// How the summary and the JSON name a vector: "A*ones", "random", a file.
[[nodiscard]] std::string describe(const VectorSettings& settings);

}  // namespace tessera::cli
