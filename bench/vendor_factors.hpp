/// \file
/// ILU(0) as programs on cuSPARSE have it: csrilu02 in place, then SpSV with L and U, with buffers and descriptors made
/// once.
#pragma once

#include "bench/vendor.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera::bench {

/// Milliseconds of the parts of a set-up, each with the device idle before and after.
struct VendorFactorTimes {
  double factor_analysis = 0.0;
  double factor = 0.0;
  double solve_analysis = 0.0;  ///< of both triangles
};

class VendorFactors {
 public:
  /// Factorizes at once. \param on_device square, with all diagonal entries \param row_offsets from
  /// narrow_row_offsets() \throws NotSupported, CudaError; InvalidMatrix naming a row whose pivot is zero
  VendorFactors(const CsrView<double>& on_device, std::span<const std::int32_t> row_offsets, const Device& device);
  VendorFactors(const VendorFactors&) = delete;
  VendorFactors& operator=(const VendorFactors&) = delete;
  ~VendorFactors();

  [[nodiscard]] const VendorFactorTimes& times() const noexcept { return times_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  /// z = U⁻¹ L⁻¹ r, in the stream of the device.
  void solve(const VendorVector& r, VendorVector& z) const;

 private:
  struct Triangles;

  void factorize(const CsrView<double>& on_device);
  void prepare_solves(const CsrView<double>& on_device);

  Device device_;
  std::span<const std::int32_t> row_offsets_;
  Array<double> values_;  ///< L and U
  VendorFactorTimes times_;
  std::unique_ptr<Triangles> triangles_;
};

}  // namespace tessera::bench
