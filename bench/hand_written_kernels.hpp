/// \file
/// The few kernels that a loop on cuSPARSE and cuBLAS needs of its own. Pointers lie on the device, work goes into its
/// stream, and nothing waits.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::bench {

/// quotient = above / below, and its negative.
void divide(const Device& device, const double* above, const double* below, double* quotient, double* negative);

/// CG: beta = next / rho, then rho = next.
void conjugate_beta(const Device& device, const double* next, double* rho, double* beta);

/// BiCGSTAB: beta = (next / rho) (alpha / omega), then rho = next.
void stabilised_beta(const Device& device, const double* next, const double* alpha, const double* omega, double* rho,
                     double* beta);

/// inverse[i] = 1 / a_ii; infinity where no diagonal entry is stored. Columns ascend.
void invert_diagonal(const Device& device, const CsrView<double>& matrix, double* inverse);

/// out = d .* v
void multiply_elements(const Device& device, std::int64_t n, const double* d, const double* v, double* out);

/// values[k] = weight_of[columns[k]]
void gather(const Device& device, std::int64_t count, const index_t* columns, const double* weight_of, double* values);

/// out[i] = value
void fill(const Device& device, std::int64_t n, double value, double* out);

/// What a step of PageRank sums.
struct RankStepSums {
  double change = 0.0;    ///< in l1
  double dangling = 0.0;  ///< new rank of the vertices without out-links
};

/// Blocks of a step at most; rank_step() wants room for the sums of as many.
inline constexpr int rank_step_blocks = 1024;

/// x = d q + (1 - d + d dangling) / n, with the dangling rank that the step before left in `sums`; then the sums of
/// this step. \param out_inverse 0 for vertices without out-links \param partial rank_step_blocks elements
void rank_step(const Device& device, std::int64_t n, double damping, const double* q, const double* out_inverse,
               double* x, RankStepSums* partial, RankStepSums* sums);

}  // namespace tessera::bench
