/// \file
/// Configurations that `tune` tries on a matrix, the most promising first.
#pragma once

#include "bench_plan.hpp"

#include "report_json.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

/// What the choice of configurations rests on.
struct TuneFacts {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  bool is_symmetric = false;
  bool has_full_diagonal = false;      ///< no entry is missing or zero
  bool has_positive_diagonal = false;  ///< besides, none is negative: A may be positive definite

  [[nodiscard]] bool is_square() const { return rows == cols; }
  [[nodiscard]] bool may_be_definite() const { return is_symmetric && has_positive_diagonal; }
};

/// \param document of inspect
[[nodiscard]] TuneFacts tune_facts(const Json& document);

/// "1138 x 1138, 4054 nonzeros, symmetric, positive diagonal".
[[nodiscard]] std::string to_string(const TuneFacts& facts);

/// A configuration, with options of its parameters beside it: {"precond-opt", "smoother=chebyshev"}.
struct TuneCandidate {
  BenchConfiguration configuration;
  std::vector<std::pair<std::string, std::string>> more = {};

  [[nodiscard]] bool operator==(const TuneCandidate&) const = default;
};

/// "gmres ilut:1e-3:20 csr restart=100".
[[nodiscard]] std::string to_string(const TuneCandidate& candidate);

/// Candidates in their order, and why others are none.
struct TuneCandidates {
  std::vector<TuneCandidate> tried;
  std::vector<std::string> skipped;  ///< "cg, chebyshev: the matrix is not symmetric"
};

/// The first is auto, which is what `solve` does without a configuration.
[[nodiscard]] TuneCandidates tune_candidates(const TuneFacts& facts);

/// Neighbours of a good candidate: other methods with its preconditioner, and other parameters.
[[nodiscard]] std::vector<TuneCandidate> tune_neighbours(const TuneCandidate& best, const TuneFacts& facts);

}  // namespace tessera::cli
