/// \file
/// A matrix in arrays with 32-bit or 64-bit offsets, on any device.
#pragma once

#include "tessera/adopt_csr.hpp"
#include "tessera/array.hpp"
#include "tessera/spmv.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tessera::testing {

/// [1 0 2; 0 0 0; 0 3 4; 5 0 0] in arrays of its own.
template <class Offset>
struct OtherLibrary {
  Array<Offset> offsets;
  Array<index_t> columns;
  Array<double> values;

  explicit OtherLibrary(const Device& device)
      : offsets(Array<Offset>::copy_of(std::vector<Offset>{0, 2, 2, 4, 5}, device)),
        columns(Array<index_t>::copy_of(std::vector<index_t>{0, 2, 1, 2, 0}, device)),
        values(Array<double>::copy_of(std::vector<double>{1, 2, 3, 4, 5}, device)) {}

  [[nodiscard]] Csr<double> adopt(const AdoptedMemory& memory) const {
    return adopt_csr<double>(4, 3, offsets.span(), columns.span(), values.span(), memory);
  }
};

[[nodiscard]] inline std::vector<double> product_with_ones(Csr<double> matrix, const Device& device) {
  const auto x = Array<double>::copy_of(std::vector<double>(3, 1.0), device);
  Array<double> y(4, Init::none, device);
  const SpmvPlan<double> plan(std::move(matrix), SpmvOptions{.device = device});
  plan.apply(x.span(), y.span());
  const Array<double> on_host = y.to(Device{});
  return {on_host.begin(), on_host.end()};
}

/// Columns and values stay where they are, 64-bit offsets too.
template <class Offset>
void expect_adopted_in_place(const Device& device) {
  const OtherLibrary<Offset> other(device);
  const Csr<double> matrix = other.adopt({.device = device});
  EXPECT_EQ(matrix.view().columns.data(), other.columns.data());
  EXPECT_EQ(matrix.view().values.data(), other.values.data());
  if constexpr (sizeof(Offset) == sizeof(offset_t)) {
    EXPECT_EQ(matrix.view().row_offsets.data(), other.offsets.data());
  }
  EXPECT_EQ(matrix.device(), device);
  EXPECT_EQ(product_with_ones(other.adopt({.device = device}), device), (std::vector<double>{3, 0, 7, 5}));
  const Csr<double> pattern =
      adopt_pattern<double>(4, 3, other.offsets.span(), other.columns.span(), {.device = device});
  EXPECT_TRUE(pattern.is_pattern());
  EXPECT_EQ(pattern.view().columns.data(), other.columns.data());
}

/// The owner lives exactly as long as the matrix.
inline void expect_owner_kept(const Device& device) {
  const auto other = std::make_shared<const OtherLibrary<std::int32_t>>(device);
  {
    const Csr<double> matrix = other->adopt({.device = device, .owner = other});
    EXPECT_GT(other.use_count(), 1);
  }
  EXPECT_EQ(other.use_count(), 1);
}

}  // namespace tessera::testing
