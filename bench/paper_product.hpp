/// \file
/// The products of two papers in bitmap tiles as contenders: made, checked, and what they report.
#pragma once

#include "support/json_text.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace tessera::bench {

/// As the papers measure it: from tiles to tiles on the device, all allocations inside, conversions of formats outside.
class PaperProduct {
 public:
  /// \param name "bmsparse" or "tsparse" \param a, b weighted, on the device; they need not live on
  /// \throws NotSupported where values do not suit the paper, OutOfMemory
  PaperProduct(std::string_view name, const Csr<double>& a, const Csr<double>& b, const Device& device);
  ~PaperProduct();
  PaperProduct(PaperProduct&&) = delete;
  PaperProduct& operator=(PaperProduct&&) = delete;

  [[nodiscard]] static bool knows(std::string_view name);

  /// From the tiles of the factors to the complete tiles of C; waits.
  void multiply();
  /// Of the last product. \param expected on the host \returns what is wrong; empty where nothing is: the same
  /// positions, and by bmsparse values within 1e-12 of the largest of their row
  [[nodiscard]] std::string check(const Csr<double>& expected);
  /// Pairs of tiles, times of conversions, and after check() by tsparse the error of half precision.
  [[nodiscard]] support::Json facts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Same positions; values within 1e-12 of the largest of their row.
[[nodiscard]] bool agrees(const Csr<double>& expected, const Csr<double>& found);

}  // namespace tessera::bench
