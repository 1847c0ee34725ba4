/// \file
/// The numbers in which a sparse product multiplies and sums, and what is lost where they have fewer bits than the
/// factors (docs/tiles.md, "Precision").
#pragma once

#include "tessera/types.hpp"

#include <span>
#include <string_view>

namespace tessera {

/// All but `working` hold for the workflow `tiles` alone. C has the type of the factors.
enum class SpgemmPrecision {
  working,    ///< sums in the type of the factors, or in a wider one
  fp16_fp32,  ///< values rounded to half precision, products exact, sums in single precision (tSparse, 2020)
  tf32x3,     ///< factors in single precision, each value the sum of two TF32 numbers (Ootomo & Yokota, 2022)
};

[[nodiscard]] std::string_view to_string(SpgemmPrecision precision);  ///< "working", "fp16-fp32", "3xtf32"
/// \throws InvalidArgument naming the known precisions and, if there is one, the nearest
[[nodiscard]] SpgemmPrecision parse_spgemm_precision(std::string_view name);
/// All but `working`.
[[nodiscard]] std::span<const SpgemmPrecision> spgemm_precisions();
/// One line, for help texts.
[[nodiscard]] std::string_view describe(SpgemmPrecision precision);

/// What a product in less than working precision lost. Values of A and B that are not finite do not count; those of a
/// matrix that is both factors count once.
struct SpgemmLoss {
  offset_t values = 0;            ///< stored values of the factors, but those of patterns
  double largest_rounding = 0.0;  ///< largest |rounded - value| / |value| of a value
  offset_t to_zero = 0;           ///< values other than 0 that became 0
  offset_t to_subnormal = 0;      ///< values that became subnormal
  /// Sampled entries of C, those of sampled rows, against sums in double precision over the values as they were. Only
  /// entries of finite sums.
  offset_t sampled_entries = 0;
  index_t sampled_rows = 0;
  double frobenius_error = 0.0;  ///< norm of the errors over the norm of the entries; 0 where both are 0
  double largest_error = 0.0;    ///< largest |error| / Σ |a_ik b_kj|
};

}  // namespace tessera
