/// \file
/// A sample of the rows of C = A B, stratified by products: stratum s has the rows with 2^s up to 2^(s+1) products. The
/// entries of a sampled row are estimated by a HyperLogLog sketch of all of its products.
///
/// Rows of a stratum are taken with a probability proportional to the root of their products: their entries vary as
/// their products do, and so does what a row costs. All sums are integers, so that neither their order nor the number
/// of threads changes a bit.
#pragma once

#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"
#include "spgemm/common/sketches.hpp"
#include "tessera/device.hpp"

#include <array>
#include <cmath>
#include <cstdint>

namespace tessera::detail {

inline constexpr int product_strata = 48;
/// Registers of the sketch of a sampled row.
inline constexpr int sample_registers = 1024;
/// The registers in groups: each estimates its share of a row for itself, and how much the groups differ is the error.
inline constexpr int sample_groups = 8;
inline constexpr int group_registers = sample_registers / sample_groups;

/// Products that sampled rows have about: a 64th of all, at least and at most.
inline constexpr int sample_share = 64;
inline constexpr double least_sample_products = 1 << 17;
inline constexpr double most_sample_products = 1 << 24;
inline constexpr double most_sampled_rows = 1 << 12;
/// Rows of a stratum that the sample has at least, if they are not a large part of all products.
inline constexpr double least_stratum_rows = 32.0;
inline constexpr double few_stratum_rows = 6.0;

/// Stratum of a row in one byte.
inline constexpr std::uint8_t no_stratum = 0xff;     ///< a row without products
inline constexpr std::uint8_t exact_stratum = 0xfe;  ///< a row of C with as many entries as products

/// \param products at least 1
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint8_t stratum_of(std::uint64_t products,
                                                                    offset_t a_row_nnz) noexcept {
  if (products == 0) return no_stratum;
  if (a_row_nnz == 1 || products == 1) return exact_stratum;
#ifdef __CUDA_ARCH__
  const int s = 63 - __clzll(static_cast<long long>(products));
#else
  const int s = 63 - std::countl_zero(products);
#endif
  return static_cast<std::uint8_t>(s < product_strata ? s : product_strata - 1);
}

/// All rows of a stratum.
struct StratumTotals {
  std::uint64_t rows = 0;
  std::uint64_t products = 0;
};

/// Sums over the sampled rows of a stratum. Products and entries are in units of 2^(s - 20): between 2^20 and 2^21
/// products per row.
struct StratumSums {
  std::uint64_t rows = 0;
  std::uint64_t products = 0;
  std::uint64_t entries = 0;
  std::uint64_t products_squared = 0;
  std::uint64_t products_entries = 0;
  std::uint64_t entries_squared = 0;
  std::uint64_t groups[sample_groups] = {};  ///< estimates of the groups of registers; they add up to `entries` nearly

  StratumSums& operator+=(const StratumSums& other) noexcept {
    rows += other.rows;
    products += other.products;
    entries += other.entries;
    products_squared += other.products_squared;
    products_entries += other.products_entries;
    entries_squared += other.entries_squared;
    for (int g = 0; g < sample_groups; ++g) groups[g] += other.groups[g];
    return *this;
  }
};

/// What a sample says: all rows, those whose entries are their products, and the sampled ones by strata.
struct ProductSample {
  std::array<StratumTotals, product_strata> totals{};
  std::array<StratumSums, product_strata> sums{};
  std::uint64_t exact_entries = 0;
};

/// x in units of 2^(s - 20).
[[nodiscard]] TESSERA_HOST_DEVICE inline std::uint64_t scaled_to_stratum(double x, int s) noexcept {
  return static_cast<std::uint64_t>(llround(ldexp(x, 20 - s)));
}

/// Products of a stratum times the root of their mean per row.
[[nodiscard]] TESSERA_HOST_DEVICE inline double stratum_root(const StratumTotals& of) noexcept {
  if (of.rows == 0) return 0.0;
  const auto products = static_cast<double>(of.products);
  return products * sqrt(products / static_cast<double>(of.rows));
}

/// Rows that the sample takes of a stratum, expected.
/// \param all_products of all strata \param roots Σ stratum_root()
[[nodiscard]] TESSERA_HOST_DEVICE inline double stratum_sample_rows(const StratumTotals& of, double all_products,
                                                                    double roots) noexcept {
  if (of.rows == 0) return 0.0;
  const auto rows = static_cast<double>(of.rows);
  const double mean = static_cast<double>(of.products) / rows;
  const double share = all_products / sample_share;
  const double budget = share < least_sample_products  ? least_sample_products
                        : share < most_sample_products ? share
                                                       : most_sample_products;
  const double wanted = budget / roots * rows * sqrt(mean);
  const double affordable = 0.01 * all_products / mean;
  const double least = affordable < few_stratum_rows     ? few_stratum_rows
                       : affordable < least_stratum_rows ? affordable
                                                         : least_stratum_rows;
  const double sampled = wanted < least ? least : wanted;
  return sampled < rows ? sampled : rows;
}

/// A row of a stratum is sampled if its hash is below this; 2^32: all are.
/// \param sampled stratum_sample_rows() \param all_sampled their sum over the strata
[[nodiscard]] TESSERA_HOST_DEVICE inline std::uint64_t stratum_rate(const StratumTotals& of, double sampled,
                                                                    double all_sampled) noexcept {
  if (of.rows == 0) return 0;
  const double fewer = all_sampled > most_sampled_rows ? most_sampled_rows / all_sampled : 1.0;
  const double share = fewer * sampled / static_cast<double>(of.rows);
  return share >= 1.0 ? std::uint64_t{1} << 32 : static_cast<std::uint64_t>(share * 0x1p32);
}

[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_sampled(index_t row, std::uint64_t rate) noexcept {
  return sketch_hash(static_cast<std::uint32_t>(row) ^ 0x6d2b79f5U) < rate;
}

}  // namespace tessera::detail
