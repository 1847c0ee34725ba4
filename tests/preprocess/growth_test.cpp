// Growth of work with the size of a matrix, on structures that are no meshes: counted, so that it hardly depends on the
// machine. bench/growth.cpp measures times.
#include "preprocess/bipartite_matching.hpp"
#include "preprocess/fill_prediction.hpp"
#include "support/odd_structures.hpp"

#include "core/random.hpp"
#include "tessera/error.hpp"
#include "tessera/ordering.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using namespace detail;

/// The work on a matrix, or 0 where there is none.
struct Operation {
  std::string_view name;
  std::int64_t (*count)(const Csr<double>&);
};

std::int64_t steps_of(const MatchingWork& work) { return work.entries + work.searches; }

std::int64_t rank_work(const Csr<double>& a) {
  MatchingWork work;
  static_cast<void>(maximum_matching(a.view(), work));
  return steps_of(work);
}

std::int64_t product_work(const Csr<double>& a) {
  if (a.rows() != a.cols()) return 0;
  MatchingWork work;
  // The constant part would be enough for matrices as small as these.
  const std::int64_t budget = search_budget(a.nnz()) - search_budget(0);
  static_cast<void>(maximum_product_matching(a.view(), budget, work));
  return steps_of(work);
}

/// Direct factors match columns with rows.
std::int64_t transposed_product_work(const Csr<double>& a) { return product_work(transpose(a.view())); }

template <class Predict>
std::int64_t fill_work(const Csr<double>& a, const Predict& predict) {
  if (a.rows() != a.cols()) return 0;
  const Csr<double> transposed = transpose(a.view());
  const CsrView<double> rows = a.view();
  const CsrView<double> columns = transposed.view();
  const std::vector<index_t> order = ordering(rows, Ordering::amd);
  return predict(PatternLists{rows.row_offsets, rows.columns}, PatternLists{columns.row_offsets, columns.columns},
                 order)
      .steps;
}
std::int64_t symmetric_fill_work(const Csr<double>& a) { return fill_work(a, predict_symmetric_fill); }
std::int64_t column_fill_work(const Csr<double>& a) { return fill_work(a, predict_column_fill); }

constexpr std::array<Operation, 5> operations{{{"rank", rank_work},
                                               {"product", product_work},
                                               {"product of the transpose", transposed_product_work},
                                               {"symmetric fill", symmetric_fill_work},
                                               {"column fill", column_fill_work}}};

constexpr double most_growth = 1.2;
constexpr std::array<std::int64_t, 4> sizes{2000, 4000, 8000, 16000};

/// Slope of the line of least squares through the logarithms of counts over those of sizes.
double exponent_of(std::span<const std::int64_t> counts) {
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    mean_x += std::log(static_cast<double>(sizes[k])) / sizes.size();
    mean_y += std::log(static_cast<double>(counts[k])) / sizes.size();
  }
  double covariance = 0.0;
  double variance = 0.0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const double x = std::log(static_cast<double>(sizes[k])) - mean_x;
    covariance += x * (std::log(static_cast<double>(counts[k])) - mean_y);
    variance += x * x;
  }
  return covariance / variance;
}

/// A structure with values that do not prefer the diagonal: that would give the matching away.
Csr<double> with_random_values(const Csr<double>& a) {
  Array<double> values(a.nnz());
  SplitMix64 random(1);
  for (double& value : values.span()) value = 1.0 - random.uniform();
  return a.with_values(std::move(values));
}

/// Counts of each operation at each size.
using Counts = std::array<std::array<std::int64_t, sizes.size()>, operations.size()>;

Counts counts_of(std::string_view structure) {
  Counts counts{};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const Csr<double> a = with_random_values(support::odd_matrix(structure, sizes[k], 1));
    for (std::size_t o = 0; o < operations.size(); ++o) counts[o][k] = operations[o].count(a);
  }
  return counts;
}

void expect_growth(std::string_view structure, std::string_view operation, std::span<const std::int64_t> counts) {
  const double exponent = exponent_of(counts);
  EXPECT_LE(exponent, most_growth) << fmt::format("{}, {}: exponent {:.2f}, counts {}", structure, operation, exponent,
                                                  fmt::join(counts, " "));
}

TEST(Growth, OfCountedWorkIsNearlyLinear) {
  for (const support::OddStructure& structure : support::odd_structures()) {
    const Counts counts = counts_of(structure.name);
    for (std::size_t o = 0; o < operations.size(); ++o) {
      if (counts[o].front() > 0) expect_growth(structure.name, operations[o].name, counts[o]);
    }
  }
}

/// Bits of all arrays, so that every machine has to make the same matrices.
std::uint64_t checksum(const CsrView<double>& a) {
  std::uint64_t sum = 0;
  const auto add = [&](std::uint64_t bits) { sum = SplitMix64(sum ^ bits).next(); };
  for (const offset_t offset : a.row_offsets) add(static_cast<std::uint64_t>(offset));
  for (const index_t column : a.columns) add(static_cast<std::uint64_t>(column));
  for (const double value : a.values) add(std::bit_cast<std::uint64_t>(value));
  return sum;
}

TEST(OddStructures, AreThoseOfEveryMachine) {
  std::vector<std::uint64_t> sums;
  for (const support::OddStructure& structure : support::odd_structures()) {
    sums.push_back(checksum(support::odd_matrix(structure.name, 1000, 7).view()));
  }
  EXPECT_EQ(sums, (std::vector<std::uint64_t>{17330731691430974650U, 13177734251634850980U, 18172354884334069292U,
                                              6631713730146112664U, 1302470005410215603U, 11742829758425019739U,
                                              7143511829195298637U, 12197060261937341095U, 7655392761455833022U,
                                              15287044587884690193U}));
}

TEST(OddStructures, AreWhatTheirDescriptionSays) {
  for (const support::OddStructure& structure : support::odd_structures()) {
    SCOPED_TRACE(structure.name);
    for (const std::int64_t rows : {1, 2, 3, 7, 50, 1025}) {
      const Csr<double> a = support::odd_matrix(structure.name, rows, 3);
      validate(a.view());
      ASSERT_EQ(a.rows(), rows);
      EXPECT_TRUE(
          std::none_of(a.values().span().begin(), a.values().span().end(), [](double value) { return value == 0.0; }));
      const MatrixStatistics facts = statistics(a.view());
      const bool is_dominant = structure.name == "star" || structure.name == "chain" ||
                               structure.name == "components" || structure.name == "powerlaw";
      const bool is_regular =
          is_dominant || structure.name == "hubs" || structure.name == "random" || structure.name == "triangular";
      EXPECT_TRUE(!is_regular || facts.full_diagonal());
      EXPECT_TRUE(!is_dominant || (facts.weakly_dominant_rows == rows && facts.diagonal_negative == 0));
      EXPECT_TRUE((!is_dominant && structure.name != "kkt") || facts.symmetry == Symmetry::numerical);
      EXPECT_TRUE(rows < 1025 || (facts.empty_rows > 0) == (structure.name == "empty-rows"));
    }
  }
}

TEST(OddStructures, RefuseWhatIsUnknown) {
  EXPECT_THROW(static_cast<void>(support::odd_matrix("stars", 10, 1)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(support::odd_matrix("star", 0, 1)), InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
