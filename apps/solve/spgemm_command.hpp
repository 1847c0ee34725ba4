/// \file
/// `spgemm`: its options understood, its results and their rendering.
#pragma once

#include "outcome.hpp"
#include "report_json.hpp"
#include "settings.hpp"

#include "tessera/keep.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/spgemm_prediction.hpp"
#include "tessera/spgemm_slices.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

enum class Factor { none, left, right };

struct SpgemmSettings {
  ProblemSettings left;
  std::optional<ProblemSettings> right;
  Factor transposed = Factor::none;  ///< without `right`: of A times A
  int power = 2;                     ///< of A alone
  MachineSettings machine;
  OutputSettings output;
  SpgemmOptions product;
  bool verify = false;
  bool predict = false;
  std::optional<Keep> keep;

  /// A product of two matrices, not a power of one.
  [[nodiscard]] bool has_two_factors() const { return right || transposed != Factor::none; }
};

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
  std::optional<ChainPrediction> prediction;
  std::string order;  ///< of a power from A^3 on: "A A, A^2 A"
  std::string order_reason;
  std::optional<SlicedReport> sliced;  ///< of a product in more than one slice
  std::optional<Keep> keep;
  std::vector<offset_t> dropped;  ///< entries of each product that `keep` dropped
  std::optional<MultiplyCheck> check;
  double read_ms = 0.0;
  double multiply_ms = 0.0;  ///< on a GPU with the upload of the factors
  double download_ms = 0.0;  ///< of the result of a GPU
  double verify_ms = 0.0;
};

/// \throws UsageError naming option and text; DeviceUnavailable for a device that does not exist
[[nodiscard]] SpgemmSettings spgemm_settings(const Options& options);

/// Of the product or power that the settings ask for, the latter at least A^2.
template <class T>
[[nodiscard]] ChainPrediction predict_product(const SpgemmSettings& settings, const Csr<T>& a, const Csr<T>& b);

/// The summary. \param width of the terminal, 0 for none
[[nodiscard]] std::string multiply_text(const MultiplyOutcome& outcome, std::size_t width);
[[nodiscard]] Json multiply_json(const MultiplyOutcome& outcome, const Options& options, const Invocation& invocation,
                                 ExitCode code);

}  // namespace tessera::cli
