/// \file
/// cuSPARSE's product of a matrix in blocks (BSR) and a vector. Block sizes are found from the matrix.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::bench {

/// Blocks of one size that a matrix would have.
struct BlockSize {
  int size = 0;
  std::int64_t blocks = 0;
  double fill = 0.0;  ///< entries per place of the blocks

  [[nodiscard]] double bytes(std::size_t value_bytes) const noexcept {
    return static_cast<double>(blocks) * (static_cast<double>(value_bytes) * size * size + 4.0);
  }
};

/// Of the sizes 2, 3, 4, 6 and 8 those that divide rows and columns; fewest bytes first. \param a on the host
template <class T>
[[nodiscard]] std::vector<BlockSize> block_sizes(const CsrView<T>& a);

/// y = A x by cusparseSbsrmv and cusparseDbsrmv.
template <class T>
class VendorBsr final : public FusedOperator<T> {
 public:
  /// Conversion on the host, by one thread. \param a on the host, weighted \param block_size divides rows and columns
  /// \throws NotSupported when the library lacks the function, CudaError
  VendorBsr(const CsrView<T>& a, int block_size, const Device& device);
  ~VendorBsr() override;
  VendorBsr(VendorBsr&&) = delete;
  VendorBsr& operator=(VendorBsr&&) = delete;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override;
  [[nodiscard]] Device device() const override;
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::bench
