/// \file
/// What solve spgemm found: a product or a power, and its check.
#pragma once

#include "cli_options.hpp"
#include "outcome.hpp"
#include "report_json.hpp"

#include "tessera/spgemm.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// (A B) x against A (B x), for x with elements in [-1, 1).
struct MultiplyCheck {
  double error = 0.0;  ///< largest difference of an element over what rounding explains; passes up to 1
  [[nodiscard]] bool passed() const noexcept { return error <= 1.0; }
};

/// `matrix` of the base describes A.
struct MultiplyOutcome : CommonOutcome {
  std::optional<CommonOutcome> right;  ///< B, where there is one
  int power = 1;                       ///< 1: a product of two matrices
  index_t rows = 0;                    ///< of the result
  index_t cols = 0;
  offset_t nnz = 0;
  bool result_is_pattern = false;
  std::vector<SpgemmReport> products;  ///< in the order in which they were made
  std::optional<MultiplyCheck> check;
  double read_ms = 0.0;
  double multiply_ms = 0.0;  ///< on a GPU with the upload of the factors
  double download_ms = 0.0;  ///< of the result of a GPU
  double verify_ms = 0.0;
};

[[nodiscard]] std::string multiply_text(const MultiplyOutcome& outcome);
[[nodiscard]] Json multiply_json(const MultiplyOutcome& outcome, const Options& options, const Invocation& invocation,
                                 ExitCode code);

}  // namespace tessera::cli
