/// \file
/// The factors of one product as operand tiles: which numbers they hold, how they are multiplied, and what that lost.
#pragma once

#include "spgemm/cuda/tiles/operand_tiles.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

#include <cstdint>
#include <string>

namespace tessera::cuda {

/// \tparam T of the factors
template <class T>
class TileOperands {
 public:
  /// Whether a product takes operand tiles rather than dense copies: in half precision and TF32, and in single
  /// precision where the GPU is fast in double by tensor instructions and the bits of the host are not asked for.
  [[nodiscard]] static bool wanted(const SpgemmOptions& options, const DeviceLimits& limits) noexcept;

  /// \param same whether A and B are one matrix
  TileOperands(const SpgemmOptions& options, const DeviceLimits& limits, bool same) noexcept
      : options_(options), capability_(limits.compute_capability), same_(same) {}

  /// Of both factors, A by rows and B by columns. \param totals tiles of each
  [[nodiscard]] std::uint64_t bytes(const TileTotals& totals) const noexcept;
  void allocate(const TileTotals& totals);
  /// Copies both factors in side streams.
  void enqueue_copies(const Context& context, SideStreams::Fork& fork, const CsrView<T>& a,
                      const TilePositions& a_tiles, const CsrView<T>& b, const TilePositions& b_tiles,
                      TileTotals* totals);
  /// What the copies noted. \throws InvalidMatrix for a finite value that half precision does not hold
  void take(const TileTotals& totals, const CsrView<T>& a, const CsrView<T>& b);
  /// C in CSR.
  void enqueue_product(const Context& context, const TilePositions& a, const TilePositions& b, const CTiles& c,
                       const offset_t* offsets, index_t* columns, T* values) const;

  [[nodiscard]] bool uses_tensor() const noexcept { return arithmetic() != OperandArithmetic::scalar; }
  /// For report.reason.
  [[nodiscard]] std::string text() const;
  /// What the product lost; waits. \param c_offsets, c_columns, c_values of C on the device
  [[nodiscard]] SpgemmLoss loss(const Context& context, const CsrView<T>& a, const CsrView<T>& b,
                                const offset_t* c_offsets, const index_t* c_columns, const T* c_values) const;

 private:
  [[nodiscard]] bool is_half() const noexcept { return options_.precision == SpgemmPrecision::fp16_fp32; }
  [[nodiscard]] OperandArithmetic arithmetic() const noexcept;

  SpgemmOptions options_;
  int capability_;
  bool same_;
  OperandTotals of_a_;
  OperandTotals of_b_;  ///< 0 where A and B are one matrix
  Array<Half> a_halves_;
  Array<Half> b_halves_;
  Array<float> a_singles_;
  Array<float> b_singles_;
};

}  // namespace tessera::cuda
