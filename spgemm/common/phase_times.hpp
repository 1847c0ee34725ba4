/// \file
/// Times of a product by phase, as linear functions of its sizes, fitted to recorded products.
#pragma once

#include "core/detail_namespace.hpp"
#include "tessera/device.hpp"
#include "tessera/spgemm_prediction.hpp"

namespace tessera::detail {

/// Sizes of a product that times follow from.
struct ProductSizes {
  double rows = 0.0;
  double a_nnz = 0.0;
  double products = 0.0;
  double nnz = 0.0;
};

/// ms = launch + per_row rows + per_a_entry nnz(A) + per_product products + per_entry nnz(C), numbers in millions.
struct PhaseModel {
  double launch = 0.0;
  double per_row = 0.0;
  double per_a_entry = 0.0;
  double per_product = 0.0;
  double per_entry = 0.0;
  double factor = 1.0;  ///< 2 of 3 recorded times are within it
};

struct ProductModel {
  PhaseModel analysis;
  PhaseModel symbolic;
  PhaseModel numeric;
};

/// Of a GPU with 132 multiprocessors: 28 products of an H200, least squares of logarithms
/// (bench/results/2026-11-22-h200-spgemm.json).
inline constexpr ProductModel gpu_model{{0.060, 0.0041, 0.0067, 0.0, 0.0, 1.75},
                                        {0.056, 0.0, 0.0, 0.00027, 0.0066, 1.5},
                                        {0.019, 0.0, 0.0, 0.0026, 0.018, 1.5}};
inline constexpr int gpu_model_multiprocessors = 132;

/// Of one thread of the host, by the workflows that `automatic` takes there, which count no rows.
inline constexpr ProductModel host_model{
    {0.03, 0.0, 6.0, 0.0, 0.0, 2.2}, {0.0, 0.0, 0.0, 0.0, 0.0, 1.0}, {0.005, 34.0, 0.0, 0.32, 13.8, 1.65}};

[[nodiscard]] inline PredictedTime phase_time(const PhaseModel& model, const ProductSizes& of, double speed) noexcept {
  constexpr double millions = 1e-6;
  const double work = model.per_row * of.rows + model.per_a_entry * of.a_nnz + model.per_product * of.products +
                      model.per_entry * of.nnz;
  return {model.launch + work * millions / speed, model.factor};
}

/// What orders of association are compared by: scalar products, with 12 per entry of C, between what both models above
/// say. It is the same on every device, so that a chain has the same bits wherever it is formed.
[[nodiscard]] constexpr double product_work(double products, double nnz) noexcept {
  constexpr double per_entry = 12.0;
  return products + per_entry * nnz;
}

}  // namespace tessera::detail
