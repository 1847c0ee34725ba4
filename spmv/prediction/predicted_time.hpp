/// \file
/// Predicted time of one product y = A x on a GPU: launches, bytes, reads of x, and work per nonzero and row.
#pragma once

#include "spmv/merbit/hub_columns.hpp"
#include "spmv/prediction/matrix_sample.hpp"
#include "tessera/csr.hpp"
#include "tessera/device_figures.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::detail {

/// What a prediction depends on besides the figures of the GPU.
struct ProductTraits {
  index_t rows = 0;
  index_t cols = 0;
  offset_t nnz = 0;
  double value_bytes = 0.0;    ///< of a value in the plan; 0 for a pattern
  double element_bytes = 8.0;  ///< of an entry of x and y
  VectorReads reads;
  RowLengthSample row_lengths;
  offset_t longest_row = 0;  ///< 0: unknown
  cuda::HubForecast hubs;    ///< of MERBIT
  // Bytes of the matrix that a product reads per nonzero, where a sample or a plan tells; nothing where the matrix does
  // not suit the kernel.
  std::optional<double> tile_bytes;
  std::optional<double> pattern_bytes;
  std::optional<double> sell_bytes;
  bool sell_is_sorted = false;
};

struct PredictedProduct {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  double ms = 0.0;
  double bytes_per_nonzero = 0.0;  ///< of the matrix, columns and values and what the kernel adds; 0 without a nonzero
};

/// t = launches + sqrt(b^2 + w^2 + r^2): b is what the bytes of A, x and y take at the bandwidth of the memory, or of
/// the second-level cache where all fit into it, w the work per nonzero and row, r the reads of x by lines. These
/// overlap in part: their time lies between the longest and the sum. Constants per kernel and precision were fitted to
/// the products recorded in bench/results (bench/NOTES.md, "predicted times", has the errors). O(1) \returns nothing
/// for kernels that are not predicted: those of the host, `streamed`, and those without the bytes above
[[nodiscard]] std::optional<PredictedProduct> predict_product(SpmvAlgorithm algorithm, const ProductTraits& traits,
                                                              const DeviceFigures& figures);

/// All kernels that can be predicted, the fastest first.
[[nodiscard]] std::vector<PredictedProduct> predict_products(const ProductTraits& traits, const DeviceFigures& figures);

/// The traits of a plan of `algorithm`, which tells the bytes that its kernel reads. \param plan_bytes PlanInfo::bytes
[[nodiscard]] ProductTraits with_plan_bytes(ProductTraits traits, SpmvAlgorithm algorithm, std::uint64_t plan_bytes);

/// Sizes and a sample of a matrix; neither its longest row and hub columns nor the bytes of layouts. O(1); on a GPU
/// waits once. \param a on options.device \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] ProductTraits sampled_traits(const CsrView<T>& a, const SpmvOptions& options);

/// All of them, with the samples by which `automatic` chooses. O(rows), and O(nnz + cols) where MERBIT would look for
/// hub columns; waits. \param a on options.device, a GPU \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] ProductTraits product_traits(const CsrView<T>& a, const SpmvOptions& options);

/// Part of a sentence: "predicted 0.289 ms, merbit 0.482 ms", the second being the fastest other one. \param predicted
/// ascending; `chosen` need not be first \returns an empty text where `chosen` is not among them
[[nodiscard]] std::string describe_prediction(const std::vector<PredictedProduct>& predicted, SpmvAlgorithm chosen);

}  // namespace tessera::detail
