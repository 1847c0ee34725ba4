/// Parts by METIS where it is installed, and what surrounds it everywhere: the width of its numbers, empty parts, the
/// grouping of rows.
#include "tessera/metis_partition.hpp"

#include "solvers/distributed/metis.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace tessera::testing {
namespace {

using Vector = std::vector<double>;

/// The matrix, its rows in random order.
Csr<double> shuffled(const Csr<double>& a) {
  std::vector<index_t> order(static_cast<std::size_t>(a.rows()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(7));
  return permuted(a.view(), std::span<const index_t>(order));
}

/// Two matrices beside each other, the first with long rows, the second with short ones.
Csr<double> uneven() {
  const Csr<double> box = poisson3d<double>(10, 11, 9, Stencil3d::twentyseven_point);
  const Csr<double> line = tridiagonal<double>(1500, -1.0, 2.0, -1.0);
  std::vector<offset_t> offsets(box.row_offsets().begin(), box.row_offsets().end());
  std::vector<index_t> columns(box.columns().begin(), box.columns().end());
  Vector values(box.values().begin(), box.values().end());
  for (index_t row = 0; row < line.rows(); ++row) offsets.push_back(box.nnz() + line.row_offsets()[row + 1]);
  for (const index_t column : line.columns()) columns.push_back(box.rows() + column);
  values.insert(values.end(), line.values().begin(), line.values().end());
  const index_t rows = box.rows() + line.rows();
  return make_csr<double>(rows, rows, offsets, columns, values);
}

class MetisPartition : public ::testing::Test {
 protected:
  void SetUp() override {
    const MetisSurvey survey = survey_metis();
    if (survey.library.empty()) GTEST_SKIP() << survey.problem;
    EXPECT_TRUE(survey.index_bits == 32 || survey.index_bits == 64);
  }
};

/// Distinct columns of other parts, counted in sets of rows of the matrix as it was.
std::int64_t halo_in_sets(const Csr<double>& a, const GroupedRows& rows) {
  std::vector<int> part_of(static_cast<std::size_t>(a.rows()));
  for (std::size_t k = 0; k < rows.order.size(); ++k) {
    part_of[static_cast<std::size_t>(rows.order[k])] = rows.partition.part_of(static_cast<index_t>(k));
  }
  std::set<std::pair<int, index_t>> needed;
  for (index_t row = 0; row < a.rows(); ++row) {
    for (offset_t k = a.row_offsets()[row]; k < a.row_offsets()[row + 1]; ++k) {
      const int part = part_of[static_cast<std::size_t>(row)];
      if (part_of[static_cast<std::size_t>(a.columns()[k])] != part) needed.emplace(part, a.columns()[k]);
    }
  }
  return std::ssize(needed);
}

TEST_F(MetisPartition, PartsAreBalancedAndTheirHaloIsSmall) {
  for (const Csr<double>& a : {shuffled(poisson2d<double>(60, 50)), shuffled(poisson3d<double>(14, 13, 12)),
                               shuffled(convection_diffusion<double>(40, 30, 1, {.x = 0.1})), shuffled(uneven())}) {
    for (const int parts : {2, 3, 4, 8}) {
      const GroupedRows rows = metis_partition(a.view(), parts);
      std::vector<index_t> sorted = rows.order;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t k = 0; k < sorted.size(); ++k) ASSERT_EQ(sorted[k], static_cast<index_t>(k));
      const Csr<double> grouped = permuted(a.view(), std::span<const index_t>(rows.order));
      const double mean = static_cast<double>(a.nnz() + a.rows()) / parts;
      for (int part = 0; part < parts; ++part) {
        const index_t first = rows.partition.first_row(part);
        const index_t last = rows.partition.first_row(part + 1);
        const auto weight =
            static_cast<double>(grouped.row_offsets()[last] - grouped.row_offsets()[first] + last - first);
        // The tolerance of METIS, and a row.
        EXPECT_LE(weight, 1.03 * mean + 28) << part << " of " << parts;
        // Inside a part the order of the file.
        EXPECT_TRUE(std::is_sorted(rows.order.begin() + first, rows.order.begin() + last));
      }
      EXPECT_EQ(rows.partition.halo(grouped.view()), halo_in_sets(a, rows));
      // A random order has nearly all rows in the halo; straight cuts of the plane 2 × 50 per cut.
      EXPECT_LE(4 * rows.partition.halo(grouped.view()), Partition::by_nonzeros(a.view(), parts).halo(a.view()))
          << parts;
    }
  }
}

TEST_F(MetisPartition, IsTheSameFromRunToRun) {
  const Csr<double> a = shuffled(poisson2d<double>(50, 50));
  const GroupedRows first = metis_partition(a.view(), 4);
  std::srand(99);
  const GroupedRows again = metis_partition(a.view(), 4);
  EXPECT_EQ(again.order, first.order);
  // Another numbering inside, the same parts.
  const GroupedRows inside = metis_partition(a.view(), 4, Ordering::rcm);
  for (int part = 0; part < 4; ++part) {
    ASSERT_EQ(inside.partition.first_row(part), first.partition.first_row(part));
    std::vector<index_t> rows(inside.order.begin() + first.partition.first_row(part),
                              inside.order.begin() + first.partition.first_row(part + 1));
    std::sort(rows.begin(), rows.end());
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), first.order.begin() + first.partition.first_row(part)));
  }
  EXPECT_NE(inside.order, first.order);
}

TEST_F(MetisPartition, SolvesAsOneDevice) {
  const Csr<double> a = shuffled(anisotropic2d<double>(25, 31, 0.05));
  const Vector b = random_values<double>(static_cast<std::size_t>(a.rows()), 17);
  const SolverOptions options{.relative_tolerance = 1e-11};
  Vector one(b.size());
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  ASSERT_TRUE(cg<double>(plan, JacobiPreconditioner<double>(a.view()), b, one, options).converged());
  double largest = 0.0;
  for (const double value : one) largest = std::max(largest, std::abs(value));
  for (const int parts : {1, 2, 4}) {
    const GroupedRows rows = metis_partition(a.view(), parts);
    const Csr<double> grouped = permuted(a.view(), std::span<const index_t>(rows.order));
    const DeviceGroup group(std::vector<Device>(static_cast<std::size_t>(parts), Device::host(1)));
    const DistributedMatrix<double> matrix(group, grouped.view(), rows.partition);
    Vector own_b(b.size());
    Vector x(b.size());
    for (std::size_t k = 0; k < b.size(); ++k) own_b[k] = b[static_cast<std::size_t>(rows.order[k])];
    ASSERT_TRUE(cg<double>(matrix, GroupPreconditioner::jacobi, own_b, x, options).converged());
    for (std::size_t k = 0; k < b.size(); ++k) {
      // As of other numberings: both to 1e-11 in the residual.
      ASSERT_NEAR(x[k], one[static_cast<std::size_t>(rows.order[k])], 1e-8 * largest) << parts;
    }
  }
}

TEST_F(MetisPartition, SmallAndEmptyGraphsHaveARowInEveryPart) {
  // No edges; an arrow, whose first row is most of the weight; as many parts as rows.
  const Csr<double> diagonal = tridiagonal<double>(9, 0.0, 2.0, 0.0);
  const Csr<double> nothing = make_csr<double>(4, 4, {0, 0, 0, 0, 0}, {}, {});
  const Csr<double> arrow = make_csr<double>(5, 5, {0, 5, 6, 7, 8, 9}, {0, 1, 2, 3, 4, 1, 2, 3, 4}, Vector(9, 1.0));
  for (const auto* const a : {&diagonal, &nothing, &arrow}) {
    for (const int parts : {1, 2, 3, 4}) {
      const GroupedRows rows = metis_partition(a->view(), parts);
      EXPECT_EQ(rows.partition.parts(), parts);
      EXPECT_EQ(rows.partition.rows(), a->rows());
    }
  }
  const Csr<double> wide = make_csr<double>(1, 2, {0, 1}, {1}, {1.0});
  EXPECT_THROW(static_cast<void>(metis_partition(wide.view(), 1)), DimensionError);
  EXPECT_THROW(static_cast<void>(metis_partition(nothing.view(), 5)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(metis_partition(nothing.view(), 0)), InvalidArgument);
}

template <class Index>
int set_all(void* options) {
  std::fill_n(static_cast<Index*>(options), detail::metis_option_count, Index{-1});
  return 1;
}

int set_fewer(void* options) {
  std::fill_n(static_cast<std::int64_t*>(options), detail::metis_option_count - 1, std::int64_t{-1});
  return 1;
}

int set_nothing(void* /*options*/) { return 1; }

TEST(MetisNumbers, HaveTheWidthThatOptionsShow) {
  EXPECT_EQ(detail::metis_index_bits(set_all<std::int32_t>), 32);
  EXPECT_EQ(detail::metis_index_bits(set_all<std::int64_t>), 64);
  EXPECT_EQ(detail::metis_index_bits(set_all<std::int16_t>), 0);
  EXPECT_EQ(detail::metis_index_bits(set_fewer), 0);
  EXPECT_EQ(detail::metis_index_bits(set_nothing), 0);
}

/// Stands in for METIS: the part of a vertex is its number modulo the parts. Refuses other than what it expects of a
/// path of weights 2, 3, 3, ..., 2.
template <class Index>
int part_by_number(void* vertices, void* constraints, void* offsets, void* neighbours, void* weights, void* sizes,
                   void* edge_weights, void* parts, float* targets, float* tolerances, void* options, void* edge_cut,
                   void* part_of) {
  const auto at = [](void* array, Index k) { return static_cast<const Index*>(array)[k]; };
  const Index n = at(vertices, 0);
  const Index last = n - 1;
  bool is_path = at(constraints, 0) == 1 && at(offsets, 0) == 0 && at(offsets, n) == 2 * last &&
                 at(neighbours, 0) == 1 && at(neighbours, 2 * last - 1) == last - 1 && at(weights, 0) == 3 &&
                 at(weights, 1) == 4;
  is_path = is_path && sizes == nullptr && edge_weights == nullptr && targets == nullptr && tolerances == nullptr &&
            options == nullptr;
  if (!is_path) return -2;
  for (Index k = 0; k < n; ++k) static_cast<Index*>(part_of)[k] = k % at(parts, 0);
  *static_cast<Index*>(edge_cut) = n;
  return 1;
}

template <class Index>
void expect_called_in_its_numbers() {
  detail::Metis metis;
  metis.library = "stand-in";
  metis.set_default_options = set_all<Index>;
  metis.part_graph_kway = part_by_number<Index>;
  metis.index_bits = detail::metis_index_bits(metis.set_default_options);
  ASSERT_EQ(metis.index_bits, static_cast<int>(8 * sizeof(Index)));
  const Csr<double> path = tridiagonal<double>(10, -1.0, 2.0, -1.0);
  const std::vector<std::int64_t> weights{3, 4, 4, 4, 4, 4, 4, 4, 4, 3};
  const auto parts = detail::metis_parts(metis, detail::SymmetricPattern(path.view()), weights, 3);
  EXPECT_EQ(parts, (std::vector<index_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));
  const std::vector<std::int64_t> wrong(10, 1);
  EXPECT_THROW(static_cast<void>(detail::metis_parts(metis, detail::SymmetricPattern(path.view()), wrong, 3)), Error);
}

TEST(MetisNumbers, AreThoseOfTheGraphThatItGets) {
  expect_called_in_its_numbers<std::int32_t>();
  expect_called_in_its_numbers<std::int64_t>();
}

TEST(MetisNumbers, Of32BitsCountNoMore) {
  detail::Metis metis;
  metis.library = "stand-in";
  metis.index_bits = 32;
  const Csr<double> path = tridiagonal<double>(3, -1.0, 2.0, -1.0);
  const std::vector<std::int64_t> weights{1, std::int64_t{1} << 31, 1};
  EXPECT_THROW(static_cast<void>(detail::metis_parts(metis, detail::SymmetricPattern(path.view()), weights, 2)),
               NotSupported);
}

TEST(MetisRows, EmptyPartsGetARowOfTheLargest) {
  std::vector<index_t> part_of{0, 0, 3, 0, 3, 0};
  detail::fill_empty_parts(part_of, 4);
  EXPECT_EQ(part_of, (std::vector<index_t>{0, 0, 3, 2, 3, 1}));
}

TEST(MetisRows, AreGroupedInTheOrderOfTheBase) {
  const std::vector<index_t> part_of{1, 0, 1, 0, 2};
  const GroupedRows natural = detail::grouped_rows(part_of, 3, std::vector<index_t>{0, 1, 2, 3, 4});
  EXPECT_EQ(natural.order, (std::vector<index_t>{1, 3, 0, 2, 4}));
  EXPECT_EQ(natural.partition.first_row(1), 2);
  EXPECT_EQ(natural.partition.first_row(2), 4);
  const GroupedRows reversed = detail::grouped_rows(part_of, 3, std::vector<index_t>{4, 3, 2, 1, 0});
  EXPECT_EQ(reversed.order, (std::vector<index_t>{3, 1, 2, 0, 4}));
}

}  // namespace
}  // namespace tessera::testing
