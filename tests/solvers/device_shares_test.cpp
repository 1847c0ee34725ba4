/// Shares told before against what devices then have, and against counts in sets.
#include "tessera/device_shares.hpp"

#include "tessera/pagerank_several_devices.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/adversarial.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

namespace tessera::testing {
namespace {

DeviceGroup hosts(int count) {
  return DeviceGroup(std::vector<Device>(static_cast<std::size_t>(count), Device::host(1)));
}

/// Every row has up to `most` entries, anywhere. \param weights all alike, or not
Csr<double> random_links(index_t n, int most, bool are_alike) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(n));
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t row = 0; row < n; ++row) {
    std::set<index_t> of_row;
    for (int k = 0; k < row % most; ++k) {
      of_row.insert(static_cast<index_t>(generator() % static_cast<std::uint64_t>(n)));
    }
    for (const index_t column : of_row) {
      columns.push_back(column);
      values.push_back(are_alike ? 1.0 : 1.0 + static_cast<double>(columns.size() % 3));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<double>(n, n, offsets, columns, values);
}

SpmvOptions plain_csr() {
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::csr;
  return options;
}

void expect_counts(const DeviceShare& share, const DevicePart& part, const std::string& what) {
  EXPECT_EQ(share.first_row, part.first_row) << what;
  EXPECT_EQ(share.rows, part.rows) << what;
  EXPECT_EQ(share.nnz, part.nnz) << what;
  EXPECT_EQ(share.halo_nnz, part.halo_nnz) << what;
  EXPECT_EQ(share.boundary_rows, part.boundary_rows) << what;
  EXPECT_EQ(share.halo, part.halo) << what;
  EXPECT_EQ(share.sent, part.sent) << what;
  EXPECT_EQ(share.neighbours, part.neighbours) << what;
}

/// The kernel csr has no plan, so all bytes are those of the share.
TEST(DeviceShares, AreWhatDevicesThenHave) {
  for (const Csr<double>& a : {random_links(203, 9, false), poisson2d<double>(20, 13), poisson3d<double>(5, 6, 7),
                               tridiagonal<double>(30, 0.0, 2.0, 0.0)}) {
    for (const int ranks : {1, 2, 3, 5}) {
      const Partition partition = Partition::by_nonzeros(a.view(), ranks);
      const std::vector<DeviceShare> shares = device_shares(a.view(), partition);
      const DistributedMatrix<double> matrix(hosts(ranks), a.view(), partition, plain_csr());
      ASSERT_EQ(shares.size(), matrix.parts().size());
      for (std::size_t k = 0; k < shares.size(); ++k) {
        const std::string what =
            std::to_string(a.nnz()) + " nonzeros, " + std::to_string(k) + " of " + std::to_string(ranks);
        expect_counts(shares[k], matrix.parts()[k], what);
        EXPECT_EQ(shares[k].matrix_bytes + shares[k].halo_bytes, matrix.parts()[k].memory_bytes) << what;
      }
    }
  }
}

TEST(DeviceShares, InSinglePrecisionAndOfPatterns) {
  const Csr<float> a = poisson2d<float>(15, 9);
  const Csr<float> pattern(a.structure());
  for (const auto* const each : {&a, &pattern}) {
    const Partition partition = Partition::by_nonzeros(each->view(), 3);
    const std::vector<DeviceShare> shares = device_shares(each->view(), partition);
    const DistributedMatrix<float> matrix(hosts(3), each->view(), partition, plain_csr());
    for (std::size_t k = 0; k < shares.size(); ++k) {
      EXPECT_EQ(shares[k].matrix_bytes + shares[k].halo_bytes, matrix.parts()[k].memory_bytes);
    }
  }
}

TEST(DeviceShares, OfVerticesAreWhatDevicesThenHave) {
  // Few links: distinct ones travel. Many: whole parts.
  for (const Csr<double>& links :
       {random_links(203, 4, false), random_links(120, 60, false), random_links(77, 5, true)}) {
    const TransitionMatrix<double> transition(links.view());
    for (const int ranks : {1, 2, 3, 5}) {
      const Partition partition = Partition::by_nonzeros(transition.in_links()->view(), ranks);
      const std::vector<DeviceShare> shares = rank_shares(transition, partition);
      const DistributedTransitionMatrix<double> matrix(hosts(ranks), transition, plain_csr());
      for (std::size_t k = 0; k < shares.size(); ++k) {
        const std::string what =
            std::to_string(links.rows()) + " vertices, " + std::to_string(k) + " of " + std::to_string(ranks);
        expect_counts(shares[k], matrix.parts()[k], what);
        EXPECT_EQ(shares[k].matrix_bytes + shares[k].halo_bytes, matrix.parts()[k].memory_bytes) << what;
      }
    }
  }
}

TEST(DeviceShares, HalosAreDistinctColumnsOfOthers) {
  const Csr<double> a = random_links(150, 7, false);
  const Partition partition({0, 10, 90, 150});
  const std::vector<DeviceShare> shares = device_shares(a.view(), partition);
  std::vector<std::set<index_t>> needed(3);
  for (index_t row = 0; row < a.rows(); ++row) {
    const int part = partition.part_of(row);
    for (offset_t k = a.row_offsets()[row]; k < a.row_offsets()[row + 1]; ++k) {
      if (partition.part_of(a.columns()[k]) != part) needed[static_cast<std::size_t>(part)].insert(a.columns()[k]);
    }
  }
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(shares[k].halo, std::ssize(needed[k]));
}

TEST(DeviceShares, RefuseWhatDoesNotFit) {
  const Csr<double> a = poisson2d<double>(5, 5);
  EXPECT_THROW(static_cast<void>(device_shares(a.view(), Partition({0, 24}))), DimensionError);
  const Csr<double> wide = make_csr<double>(1, 2, {0, 1}, {1}, {1.0});
  EXPECT_THROW(static_cast<void>(device_shares(wide.view(), Partition({0, 1}))), DimensionError);
  EXPECT_THROW(
      static_cast<void>(rank_shares(TransitionMatrix<double>(random_links(25, 3, true).view()), Partition({0, 24}))),
      DimensionError);
  EXPECT_THROW(static_cast<void>(device_shares(a.view(), Partition::by_nonzeros(a.view(), 17))), InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
