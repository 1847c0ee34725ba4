/// \file
/// Preparation of a matrix for incomplete factors: scaling, matching and ordering.
#pragma once

#include "solvers/factors/factorization.hpp"
#include "tessera/csr.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/ordering.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace tessera::detail {

/// Row k of Â is row row_from[k] of A, column k is column column_to[k]; empty: the identity.
struct FactorPermutations {
  std::vector<index_t> row_from;
  std::vector<index_t> column_to;
  bool is_matched = false;  ///< rows were exchanged by the matching
};

/// Factors of A's rows and columns, in the order of A. Empty: ones.
struct FactorScales {
  std::vector<double> row;
  std::vector<double> column;
  std::string_view name = "none";
};

struct PreparedMatrix {
  FactorRows matrix;  ///< Â; columns ascend
  FactorPermutations permutations;
  FactorScales scales;
  double smallest_diagonal = 0.0;  ///< of ProductMatching, where it was computed
};

/// Ordering that the options ask for.
[[nodiscard]] Ordering chosen_ordering(const IncompleteFactorOptions& options);

/// \throws InvalidArgument for options out of range
void check_factor_options(const IncompleteFactorOptions& options);

/// Scales are rounded to T, so that the operator scales by exactly what the factors were computed for.
/// \param matrix on the host, square, finite
/// \param kept permutations of an earlier preparation; null: computed here
/// \throws SingularMatrix for a structurally singular matrix where it has to be permuted
template <class T>
[[nodiscard]] PreparedMatrix prepare_matrix(const CsrView<T>& matrix, const IncompleteFactorOptions& options,
                                            const FactorPermutations* kept);

}  // namespace tessera::detail
