/// \file
/// The matrix of a run, read or generated, and the vectors that go with it.
#pragma once

#include "outcome.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/matrix_file.hpp"
#include "tessera/matrix_market.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

template <class T>
struct InputMatrix {
  std::shared_ptr<const Csr<T>> matrix;
  std::string name;                 ///< file or generator, for messages
  std::vector<std::string> labels;  ///< ids of the vertices of a list of edges, else empty; the transpose keeps them
  offset_t duplicates = 0;          ///< entries summed into others
  std::optional<RoundedInteger> first_rounded;
  std::optional<MatrixMarketHeader> header;  ///< of a file
  std::optional<CacheUse> cache;             ///< where one was asked for
  double read_ms = 0.0;                      ///< reading or generating
};

/// A matrix as its file or its generator gives it.
template <class T>
struct LoadedMatrix {
  MatrixFile<T> file;
  std::optional<CacheUse> cache;
  double read_ms = 0.0;
};

/// Reads (any format, or through a cache) or generates. Throws as load_input.
template <class T>
[[nodiscard]] LoadedMatrix<T> load_matrix(const ProblemSettings& settings, const MachineSettings& machine);

/// The transpose, beside the matrix. \param name of the matrix, for messages \throws OutOfMemory
template <class T>
[[nodiscard]] Csr<T> transposed(const Csr<T>& matrix, const std::string& name, const MachineSettings& machine);

/// The same as load_matrix, transposed where the settings say so, and shared.
/// \throws what the reader and the generators throw; OutOfMemory before a generated matrix would exceed the limit
template <class T>
[[nodiscard]] InputMatrix<T> load_input(const ProblemSettings& settings, const MachineSettings& machine);

/// Fills in what every command reports of its matrix; describe_matrix() adds what is computed from the entries.
template <class T>
void report_input(const ProblemSettings& settings, const MachineSettings& machine, const InputMatrix<T>& problem,
                  CommonOutcome& outcome);

/// Statistics, and the density of the entries where a report shows it.
template <class T>
void describe_matrix(const CsrView<T>& matrix, const OutputSettings& output, const Device& host,
                     CommonOutcome& outcome);

/// W001, when entries of a matrix were merged.
void warn_about_duplicates(const CommonOutcome& outcome, Warnings& warnings);

/// W025, when an integer of the file was rounded.
void warn_about_rounding(const CommonOutcome& outcome, Warnings& warnings);

/// W009, when a cache could not be used or written.
void warn_about_cache(const CommonOutcome& outcome, Warnings& warnings);

/// The matrix of a run as words of a command: "A.mtx --transpose", "--poisson2d 30".
[[nodiscard]] std::string source_words(const CommonOutcome& outcome);

/// "reading A.mtx", "generating poisson3d 64".
[[nodiscard]] std::string loading_text(const ProblemSettings& settings);

/// How far x is from the solution that is known where the right-hand side is A ones or A times random numbers; else
/// nothing.
template <class T>
[[nodiscard]] std::optional<KnownError> known_error(std::span<const T> x, const VectorSettings& rhs,
                                                    std::uint64_t seed);

/// The vector of the settings. Kind::rhs is not handled here: the caller has that vector.
/// \param A     for Kind::a_ones and Kind::a_random
/// \param what  name of the vector in messages
/// \throws UsageError for a unit vector outside [1, n]; DimensionError for a file of another length
template <class T>
[[nodiscard]] std::vector<T> make_vector(const VectorSettings& settings, const LinearOperator<T>& A,
                                         const MachineSettings& machine, std::uint64_t seed, const std::string& what);

/// b of a linear system. Where A times ones is 0 and the user named no right-hand side, `settings` become those of A
/// times random numbers. Throws as make_vector.
/// \param matrix   A, on the host
/// \param is_named whether the user named the right-hand side
template <class T>
[[nodiscard]] std::vector<T> make_rhs(VectorSettings& settings, bool is_named, const CsrView<T>& matrix,
                                      const LinearOperator<T>& A, const MachineSettings& machine);

/// W003, when make_rhs() changed the settings.
void warn_about_replaced_rhs(Warnings& warnings);

/// A vector file whose length must be n. \param of "rows", "columns": whose number that is
/// \throws DimensionError naming both lengths
template <class T>
[[nodiscard]] std::vector<T> read_vector_of(const std::string& path, std::int64_t n, const MachineSettings& machine,
                                            const std::string& what, std::string_view of = "rows");

/// Name of a vector in summary and JSON: "A*ones", "A*random", "random", a file.
[[nodiscard]] std::string describe(const VectorSettings& settings);

}  // namespace tessera::cli
