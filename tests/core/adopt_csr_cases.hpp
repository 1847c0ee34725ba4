/// \file
/// A matrix in arrays with 32-bit or 64-bit offsets, on any device.
#pragma once

#include "tessera/adopt_csr.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/spmv.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
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

/// Structures that break an invariant, and one that does not.
struct Structure {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> columns;
};
inline const std::vector<Structure>& structures() {
  static const std::vector<Structure> all = {
      {{0, 2, 2, 4, 5}, {0, 2, 1, 2, 0}},  {{0, 2, 2, 4, 5}, {0, 2, 2, 1, 0}},  // columns descend
      {{0, 2, 2, 4, 5}, {0, 2, 1, 1, 0}},                                       // or repeat
      {{0, 2, 2, 4, 5}, {0, 3, 1, 2, 0}},                                       // beyond the last column
      {{0, 2, 2, 4, 5}, {0, 2, 1, 2, -1}},                                      // or before the first
      {{0, 2, 1, 4, 5}, {0, 2, 1, 2, 0}},                                       // offsets descend
      {{0, 2, 9, 4, 5}, {0, 2, 1, 2, 0}},                                       // or leave the nonzeros
      {{0, 2, 2, 4, 4}, {0, 2, 1, 2, 0}},                                       // or end before them
      {{1, 2, 2, 4, 5}, {0, 2, 1, 2, 0}},                                       // or do not begin with 0
      {{0, 2, 2, 4}, {0, 2, 1, 2, 0}},                                          // or are too few
      {{0, 5, 5, 5, 5}, {0, 1, 2, 1, 2}},                                       // a row of two ascents
  };
  return all;
}

/// What is wrong with a 4 x 3 structure; "" where nothing is.
template <class Column>
[[nodiscard]] std::string fault_of(const Structure& structure, const Device& device, bool is_pattern) {
  const auto offsets = Array<std::int64_t>::copy_of(structure.offsets, device);
  const auto columns =
      Array<Column>::copy_of(std::vector<Column>(structure.columns.begin(), structure.columns.end()), device);
  const auto values = Array<double>::copy_of(std::vector<double>(structure.columns.size(), 1.0), device);
  try {
    if (is_pattern) {
      static_cast<void>(adopt_pattern<double>(4, 3, offsets.span(), columns.span(), {.device = device}));
    } else {
      static_cast<void>(adopt_csr<double>(4, 3, offsets.span(), columns.span(), values.span(), {.device = device}));
    }
  } catch (const InvalidMatrix& error) {
    return error.what();
  }
  return "";
}

/// The full check accepts the first structure alone, in the words of the host.
inline void expect_checked(const Device& device) {
  for (std::size_t k = 0; k < structures().size(); ++k) {
    for (const bool is_pattern : {false, true}) {
      const std::string expected = fault_of<std::int32_t>(structures()[k], Device{}, is_pattern);
      EXPECT_EQ(expected.empty(), k == 0) << k << ": " << expected;
      EXPECT_EQ(fault_of<std::int32_t>(structures()[k], device, is_pattern), expected) << k;
      const std::string of_wide = fault_of<std::int64_t>(structures()[k], device, is_pattern);
      EXPECT_EQ(of_wide.empty(), k == 0) << k << ": " << of_wide;
      // A column out of range is found while it is narrowed, before the offsets are looked at.
      if (expected.find("outside") != std::string::npos) {
        EXPECT_EQ(of_wide, expected) << k;
      }
    }
  }
  // A column that 32 bits would take for 1.
  const std::string fault = fault_of<std::int64_t>({{0, 1, 1, 1, 1}, {(std::int64_t{1} << 32) + 1}}, device, false);
  EXPECT_NE(fault.find("row 0, nonzero 0: column 4294967297 is outside [0, 3)"), std::string::npos) << fault;
}

/// Columns of 64 bits are narrowed; the rest stays in place.
inline void expect_narrowed(const Device& device) {
  const OtherLibrary<std::int64_t> other(device);
  const auto columns = Array<std::int64_t>::copy_of(std::vector<std::int64_t>{0, 2, 1, 2, 0}, device);
  Csr<double> matrix =
      adopt_csr<double>(4, 3, other.offsets.span(), columns.span(), other.values.span(), {.device = device});
  EXPECT_EQ(matrix.view().row_offsets.data(), other.offsets.data());
  EXPECT_EQ(matrix.view().values.data(), other.values.data());
  EXPECT_EQ(product_with_ones(std::move(matrix), device), (std::vector<double>{3, 0, 7, 5}));
}

/// Arrays given away stay where they are and outlive the matrix.
inline void expect_released(const Device& device) {
  const OtherLibrary<std::int64_t> other(device);
  Csr<double> matrix = other.adopt({.device = device}).to(device);
  const double* const values = matrix.view().values.data();
  const Csr<double> twin = matrix.with_values(Array<double>(5, Init::zero, device));
  const ReleasedCsr<double> released = release(std::move(matrix));
  EXPECT_EQ(matrix.rows(), 0);  // NOLINT(bugprone-use-after-move): what is left is promised
  EXPECT_EQ(released.arrays.values.data(), values);
  EXPECT_EQ(released.arrays.columns.data(), twin.view().columns.data());
  EXPECT_EQ(released.device, device);
  // Another library, which is this one.
  Csr<double> again = adopt_csr<double>(released.arrays.rows, released.arrays.cols, released.arrays.row_offsets,
                                        released.arrays.columns, released.arrays.values,
                                        {.device = released.device, .owner = released.owner});
  EXPECT_EQ(product_with_ones(std::move(again), device), (std::vector<double>{3, 0, 7, 5}));
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
