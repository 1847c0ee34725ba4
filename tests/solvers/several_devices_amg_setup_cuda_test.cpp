/// Set-up of AMG by several GPUs at once: the bits of a set-up by one, and who holds which rows.
#include "core/borrowed_csr.hpp"
#include "core/row_slice.hpp"
#include "solvers/amg/galerkin_rows.hpp"
#include "solvers/amg/setup.hpp"
#include "solvers/distributed/amg_hierarchy.hpp"
#include "solvers/distributed/amg_setup_ranks.hpp"
#include "solvers/distributed/matrix.hpp"
#include "tessera/amg_several_devices.hpp"
#include "tessera/assemble.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/solvers/amg_cycle_oracle.hpp"
#include "tests/solvers/amg_ranks.hpp"
#include "tests/solvers/gpu_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using Values = std::vector<double>;

class SeveralGpusAmgSetup : public GpuGroups {};

/// Paths of five nodes that nothing holds: the diagonal of the coarser level is rounding alone, of any sign.
Csr<double> loose_paths(index_t paths) {
  const index_t n = 5 * paths;
  std::vector<index_t> rows;
  std::vector<index_t> columns;
  Values values;
  for (index_t i = 0; i + 1 < n; ++i) {
    if (i % 5 == 4) continue;
    const double weight = 0.1 + 0.01 * (i % 37);
    rows.insert(rows.end(), {i, i, i + 1, i + 1});
    columns.insert(columns.end(), {i, i + 1, i, i + 1});
    values.insert(values.end(), {weight, -weight, -weight, weight});
  }
  return assemble<double>(n, n, rows, columns, values, ValueStorage::weighted).matrix;
}

/// GPUs that reach each other share the work of set-up: the bits are those of GPUs that each do all of it.
TEST_F(SeveralGpusAmgSetup, SetUpTogether) {
  struct Case {
    Csr<double> a;
    AmgOptions options;
  };
  std::vector<Case> cases;
  cases.push_back({poisson3d<double>(9, 8, 10, Stencil3d::twentyseven_point), {.coarsest_rows = 10}});
  cases.push_back({anisotropic2d<double>(25, 20, 0.02), {.coarsest_rows = 10}});  // weak entries are lumped
  cases.push_back({convection_diffusion<double>(22, 15, 1, {.x = 0.3, .y = -0.2}), {.coarsest_rows = 10}});
  cases.push_back({poisson2d<double>(21, 19), {.coarsest_rows = 10, .prolongator_damping = 0.0}});
  cases.push_back({loose_paths(80), {.coarsest_rows = 10, .check = false}});
  AmgOptions elastic{.coarsest_rows = 30, .block_size = 3};
  elastic.coordinates = generator_coordinates(parse_generator("elasticity3d:5"));
  cases.push_back({elasticity3d<double>(5), elastic});
  for (const Case& task : cases) {
    const Values r = random_values<double>(static_cast<std::size_t>(task.a.rows()), 3);
    const auto image = [&](bool peer_access, int ranks) {
      const DistributedMatrix<double> A(group(peer_access, ranks), task.a.view());
      const DistributedAmg<double> M(A, task.a.view(), task.options, {.least_rows = 50});
      EXPECT_GE(M.info().shared_levels, 1);
      EXPECT_EQ(M.info().exchange_ms > 0.0, peer_access && A.group().has_peer_access());
      Values z(r.size());
      M.apply(r, z);
      return z;
    };
    EXPECT_EQ(image(true, 2), image(false, 2));
    if (&task != cases.data() && sparing()) continue;
    EXPECT_EQ(image(true, 3), image(false, 3));
  }
}

/// Along a long grid a rank needs few rows of P beside its own; the bounds are checked entry by entry.
TEST_F(SeveralGpusAmgSetup, RowsOfProlongatorsForARank) {
  for (const auto& [nx, ny] : {std::pair{4, 200}, {40, 15}}) {
    const Csr<double> a = poisson2d<double>(nx, ny);
    const detail::AmgSetup<double> on_host(a.view(), {.coarsest_rows = 20}, Device{});
    const Csr<double>& p = *on_host.hierarchy().levels[0].p;
    const detail::Aggregates& found = on_host.structures()[0].aggregates;
    const detail::Aggregates there{found.of_row.to(gpu()), found.count, found.without, found.rounds};
    const Partition fine = uneven(a.rows(), 3);
    const Partition coarse = detail::partition_of_coarse(fine, found.of_row, 1, found.count, p.cols());
    const index_t bandwidth = nx;
    for (int rank = 0; rank < 3; ++rank) {
      const detail::RowRange own{fine.first_row(rank), fine.first_row(rank + 1)};
      const detail::RowRange next{coarse.first_row(rank), coarse.first_row(rank + 1)};
      const detail::RowRange rows = detail::rows_of_prolongator(Device{}, found, a.rows(), bandwidth, own, next, 1);
      EXPECT_EQ(rows, detail::rows_of_prolongator(gpu(), there, a.rows(), bandwidth, own, next, 1));
      detail::RowRange needed = own;
      for (index_t i = 0; i < a.rows(); ++i) {
        const auto columns = [](const Csr<double>& m, index_t row) {
          const auto begin = static_cast<std::size_t>(m.row_offsets()[static_cast<std::size_t>(row)]);
          const auto end = static_cast<std::size_t>(m.row_offsets()[static_cast<std::size_t>(row) + 1]);
          return m.columns().span().subspan(begin, end - begin);
        };
        const auto of_p = columns(p, i);
        if (std::none_of(of_p.begin(), of_p.end(), [&](index_t c) { return c >= next.first && c < next.last; }))
          continue;
        for (const index_t j : columns(a, i)) {
          needed.first = std::min(needed.first, j);
          needed.last = std::max(needed.last, j + 1);
        }
      }
      EXPECT_LE(rows.first, needed.first);
      EXPECT_GE(rows.last, needed.last);
      EXPECT_LE(rows.size(), nx == 4 ? needed.size() + 60 : a.rows()) << rank;
    }
  }
}

TEST_F(SeveralGpusAmgSetup, PlacedRowsStandBetweenEmptyOnes) {
  const Csr<double> a = poisson2d<double>(5, 4);
  const Csr<double> there = a.to(gpu());
  for (const detail::RowRange range : {detail::RowRange{0, 20}, {3, 11}, {0, 1}, {19, 20}, {7, 7}}) {
    const auto whole = std::make_shared<const Csr<double>>(a.to(gpu()));
    const Csr<double> placed = detail::place_rows(gpu(), whole, range.first, range, a.rows()).to(Device{});
    const auto part = detail::slice_rows(there.view(), gpu(), range.first, range.size());
    const auto alone = std::make_shared<const Csr<double>>(detail::borrow_csr(part.view, gpu()));
    const Csr<double> same = detail::place_rows(gpu(), alone, 0, range, a.rows()).to(Device{});
    EXPECT_TRUE(std::ranges::equal(same.row_offsets(), placed.row_offsets()));
    EXPECT_TRUE(std::ranges::equal(same.columns(), placed.columns()));
    EXPECT_TRUE(std::ranges::equal(same.values(), placed.values()));
    validate(placed.view());
    ASSERT_EQ(placed.rows(), a.rows());
    for (index_t row = 0; row < a.rows(); ++row) {
      const auto slice = detail::slice_rows(placed.view(), Device{}, row, 1);
      const auto expected = detail::slice_rows(a.view(), Device{}, row, 1);
      if (row < range.first || row >= range.last) {
        EXPECT_EQ(slice.view.nnz(), 0) << row;
        continue;
      }
      EXPECT_TRUE(std::ranges::equal(slice.view.columns, expected.view.columns)) << row;
      EXPECT_TRUE(std::ranges::equal(slice.view.values, expected.view.values)) << row;
    }
  }
}

/// Rows of a Galerkin product have the bits of the whole.
TEST_F(SeveralGpusAmgSetup, RowsOfGalerkinProducts) {
  const Csr<double> grid = poisson3d<double>(9, 8, 7);
  const Csr<double> skew = convection_diffusion<double>(15, 20, 1, {.x = 0.3, .y = -0.2});
  for (const Csr<double>* const a : {&grid, &skew}) {
    const AmgOptions options{.coarsest_rows = 20};
    const Csr<double> there = a->to(gpu());
    const detail::AmgSetup<double> setup(there.view(), options, gpu());
    const auto& levels = setup.hierarchy().levels;
    ASSERT_GE(levels.size(), 2U);
    SpgemmOptions products;
    products.device = gpu();
    products.determinism = Determinism::gpu_to_gpu;
    const Csr<double> whole = levels[1].a->to(Device{});
    const index_t rows = whole.rows();
    for (const auto& [first, last] : {std::pair{index_t{0}, rows}, {rows / 3, rows}, {rows / 3, rows / 2}, {5, 5}}) {
      const Csr<double> part =
          detail::galerkin_rows(*levels[0].r, there, *levels[0].p, first, last, products).to(Device{});
      const auto expected = detail::slice_rows(whole.view(), Device{}, first, last - first);
      EXPECT_TRUE(std::ranges::equal(part.row_offsets(), expected.offsets));
      EXPECT_TRUE(std::ranges::equal(part.columns(), expected.view.columns));
      EXPECT_TRUE(std::ranges::equal(part.values(), expected.view.values));
    }
  }
}

/// Ranks that note which rows they ask for.
class NotedRanks : public detail::GpuSetupRanks<double> {
 public:
  using detail::GpuSetupRanks<double>::GpuSetupRanks;
  [[nodiscard]] Csr<double> gather_finest(const detail::RowRange& range) override {
    asked.push_back(range);
    return detail::GpuSetupRanks<double>::gather_finest(range);
  }
  [[nodiscard]] Csr<double> gather(const Csr<double>& own, const detail::RowRange& range) override {
    asked.push_back(range);
    return detail::GpuSetupRanks<double>::gather(own, range);
  }
  std::vector<detail::RowRange> asked;
};

/// Rows [range) of two matrices have the same bits.
void expect_rows(const Csr<double>& found, const Csr<double>& expected, const detail::RowRange& range) {
  const auto one = detail::slice_rows(found.view(), Device{}, range.first, range.size());
  const auto other = detail::slice_rows(expected.view(), Device{}, range.first, range.size());
  EXPECT_TRUE(std::ranges::equal(one.offsets, other.offsets));
  EXPECT_TRUE(std::ranges::equal(one.view.columns, other.view.columns));
  EXPECT_TRUE(std::ranges::equal(one.view.values, other.view.values));
}

void expect_info(const AmgInfo& found, const AmgInfo& expected) {
  EXPECT_EQ(found.reason, expected.reason);
  EXPECT_EQ(found.operator_complexity, expected.operator_complexity);
  ASSERT_EQ(found.levels.size(), expected.levels.size());
  for (std::size_t l = 0; l < found.levels.size(); ++l) {
    const AmgLevelInfo& one = found.levels[l];
    const AmgLevelInfo& other = expected.levels[l];
    EXPECT_EQ(one.rows, other.rows) << l;
    EXPECT_EQ(one.nnz, other.nnz) << l;
    EXPECT_EQ(one.strong, other.strong) << l;
    EXPECT_EQ(one.aggregates, other.aggregates) << l;
    EXPECT_EQ(one.spectral_radius, other.spectral_radius) << l;
  }
}

/// \param shared levels, each with its partition and that of the next
void expect_hierarchy(const detail::SharedHierarchy<double>& found, const detail::AmgHierarchy<double>& whole,
                      int rank) {
  const auto rows_of = [&](std::size_t level) {
    if (level >= found.partitions.size() || level > found.shared_levels) return detail::RowRange{0, 0};
    const Partition& partition = found.partitions[level];
    return detail::RowRange{partition.first_row(rank), partition.first_row(rank + 1)};
  };
  ASSERT_EQ(found.whole.levels.size(), whole.levels.size());
  for (std::size_t l = 0; l < whole.levels.size(); ++l) {
    SCOPED_TRACE(l);
    const detail::AmgLevel<double>& one = found.whole.levels[l];
    const detail::AmgLevel<double>& other = whole.levels[l];
    const bool is_shared = l < found.shared_levels;
    const detail::RowRange own = is_shared ? rows_of(l) : detail::RowRange{0, other.a->rows()};
    EXPECT_EQ(one.rho, other.rho);
    expect_rows(one.a->to(Device{}), *other.a, own);
    const Array<double> smoother = one.smoother.to(Device{});
    EXPECT_TRUE(
        std::equal(smoother.begin() + own.first, smoother.begin() + own.last, other.smoother.begin() + own.first));
    ASSERT_EQ(one.p == nullptr, other.p == nullptr);
    if (other.p == nullptr) continue;
    expect_rows(one.p->to(Device{}), *other.p, own);
    expect_rows(one.r->to(Device{}), *other.r, is_shared ? rows_of(l + 1) : detail::RowRange{0, other.r->rows()});
  }
  EXPECT_TRUE(std::ranges::equal(found.whole.coarsest_inverse.to(Device{}), whole.coarsest_inverse));
}

/// Row 10 from the end and the next are coupled weakly: one rank alone drops entries.
Csr<double> weak_at_the_end(const Csr<double>& a) {
  Values values(a.values().begin(), a.values().end());
  const index_t row = a.rows() - 10;
  for (const auto& [i, j] : {std::pair{row, row + 1}, {row + 1, row}}) {
    const auto begin = a.columns().begin() + a.row_offsets()[i];
    values[static_cast<std::size_t>(std::find(begin, begin + 5, j) - a.columns().begin())] = -1e-4;
  }
  return a.with_values(Array<double>::copy_of(values));
}

/// Two rows are coupled, the others alone: one aggregate, so not every rank gets a row of the next level.
Csr<double> one_pair(index_t n) {
  std::vector<index_t> rows;
  std::vector<index_t> columns;
  Values values;
  for (index_t i = 0; i < n; ++i) {
    rows.push_back(i);
    columns.push_back(i);
    values.push_back(1.0);
  }
  for (const index_t i : {n / 3, n / 3 + 1}) {
    rows.push_back(i);
    columns.push_back(2 * (n / 3) + 1 - i);
    values.push_back(-0.9);
  }
  return assemble<double>(n, n, rows, columns, values, ValueStorage::weighted).matrix;
}

/// Along a long grid a rank holds some rows beside its own; where that does not do, all.
TEST_F(SeveralGpusAmgSetup, RanksHoldTheRowsTheyNeed) {
  struct Case {
    std::string name;
    Csr<double> a;
    bool takes_all = false;
  };
  std::vector<Case> cases;
  cases.push_back({"grid", poisson2d<double>(6, 150)});
  cases.push_back({"weak entries", anisotropic2d<double>(6, 150, 0.02)});
  cases.push_back({"weak entries of one rank", weak_at_the_end(poisson2d<double>(6, 150))});
  cases.push_back({"no M-matrix", poisson3d<double>(3, 4, 60, Stencil3d::twentyseven_point)});
  cases.push_back({"not symmetric", convection_diffusion<double>(5, 130, 1, {.x = 0.3, .y = -0.2})});
  cases.push_back({"one way", tridiagonal<double>(700, -1.0, 1.5, 0.0)});
  cases.push_back({"one aggregate", one_pair(300), true});
  cases.push_back({"does not coarsen", tridiagonal<double>(300, 1.0, 4.0, 1.0), true});
  for (const Case& task : cases) {
    const AmgOptions options{.coarsest_rows = 10};
    detail::AmgSetup<double> whole(task.a.view(), options, Device{});
    for (const int ranks : {2, 3}) {
      if (ranks == 3 && sparing() && &task != cases.data() && !task.takes_all) continue;
      const DeviceGroup devices = group(true, ranks);
      if (!devices.has_peer_access()) continue;
      const Partition partition = uneven(task.a.rows(), ranks);
      const DistributedMatrix<double> A(devices, task.a.view(), partition);
      devices.impl()->run([&](int rank) {
        SCOPED_TRACE(task.name + ", rank " + std::to_string(rank) + " of " + std::to_string(ranks));
        NotedRanks together(devices, rank, A.impl().product(rank), partition, 60);
        const detail::SharedHierarchy<double> found =
            detail::set_up_shared<double>(together, options, devices.device(rank));
        expect_hierarchy(found, whole.hierarchy(), rank);
        expect_info(found.info, whole.info());
        EXPECT_EQ(found.is_symmetric, whole.is_symmetric());
        const detail::RowRange all{0, task.a.rows()};
        EXPECT_NE(together.asked[0], all);
        EXPECT_EQ(together.asked.size() > 1 && together.asked[1] == all, task.takes_all);
        EXPECT_EQ(found.shared_levels > 0, !task.takes_all);
        synchronize(devices.device(rank));
      });
    }
  }
}

/// A row per rank, and levels that end with fewer.
TEST_F(SeveralGpusAmgSetup, FewRows) {
  for (const index_t rows : {3, 4, 7}) {
    const Csr<double> a = tridiagonal<double>(rows, -1.0, 2.0, -1.0);
    const Values r = random_values<double>(static_cast<std::size_t>(rows), 3);
    const auto image = [&](bool peer_access) {
      const DistributedMatrix<double> A(group(peer_access, 3), a.view());
      const DistributedAmg<double> M(A, a.view(), {.coarsest_rows = 1, .check = false}, {.least_rows = 1});
      Values z(r.size());
      M.apply(r, z);
      return z;
    };
    EXPECT_EQ(image(true), image(false)) << rows;
  }
}

/// All ranks know the row, whoever has it.
TEST_F(SeveralGpusAmgSetup, RefusesRowsOfAnyRank) {
  const Csr<double> a = poisson2d<double>(6, 50);
  for (const index_t row : {3, 298}) {
    Values values(a.values().begin(), a.values().end());
    const auto begin = a.columns().begin() + a.row_offsets()[row];
    values[static_cast<std::size_t>(std::find(begin, begin + 5, row) - a.columns().begin())] = -7.0;
    const Csr<double> unfit = a.with_values(Array<double>::copy_of(values));
    const DistributedMatrix<double> A(group(true), unfit.view());
    try {
      const DistributedAmg<double> M(A, unfit.view(), {.coarsest_rows = 10}, {.least_rows = 60});
      FAIL() << row;
    } catch (const InvalidMatrix& failure) {
      EXPECT_NE(std::string(failure.what()).find("row " + std::to_string(row + 1) + " has the diagonal -7"),
                std::string::npos)
          << failure.what();
    }
  }
}

}  // namespace
}  // namespace tessera::testing
