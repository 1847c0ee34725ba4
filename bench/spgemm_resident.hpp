/// \file
/// Products whose factors and result stay in tiles, and the conversions around them, for bench_spgemm_cuda.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/tile_product.hpp"

#include <optional>
#include <string>

namespace tessera::bench {

/// "tiles-resident": C = A B, all in tiles; "to-tiles": A from CSR; "to-csr": C to CSR; of a square A, not compared
/// with the host: "cube": A^3 in CSR by the workflow `tiles`, "cube-resident": the same from CSR to CSR through tiles.
[[nodiscard]] std::string resident_ways();
[[nodiscard]] bool is_resident_way(const std::string& way);

/// Factors on a GPU in CSR, which must outlive this, and in tiles.
class ResidentTiles {
 public:
  ResidentTiles(const Csr<double>& a, const Csr<double>& b, const Device& device);

  /// One run, complete when it returns. \returns the report of its last product
  [[nodiscard]] std::optional<SpgemmReport> run(const std::string& way);
  /// A B in CSR.
  [[nodiscard]] Csr<double> product() const;

 private:
  [[nodiscard]] TileProduct<double> multiply() const;
  [[nodiscard]] SpgemmOptions options() const;

  const Csr<double>& matrix_;
  bool same_;
  Device device_;
  TileMatrix<double> a_;
  TileMatrix<double> b_;
  TileMatrix<double> c_;  ///< made by the first run of "to-csr"
};

}  // namespace tessera::bench
