#include "tessera/several_devices.hpp"

#include "core/communicator.hpp"
#include "core/group_rank.hpp"
#include "solvers/distributed/group.hpp"
#include "solvers/distributed/row_block.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/adversarial.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <thread>

namespace tessera::testing {
namespace {

using Vector = std::vector<double>;

DeviceGroup hosts(int count) {
  return DeviceGroup(std::vector<Device>(static_cast<std::size_t>(count), Device::host(1)));
}

/// Rows of very different lengths, with columns all over.
Csr<double> scattered(index_t n) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  Vector values;
  std::mt19937_64 generator(5);
  for (index_t row = 0; row < n; ++row) {
    std::map<index_t, double> entries;
    const auto count = static_cast<index_t>(row % 7 == 3 ? n / 2 : row % 5);
    for (index_t k = 0; k < count; ++k) {
      entries[static_cast<index_t>(generator() % static_cast<std::uint64_t>(n))] =
          std::ldexp(double(generator() % 1000), -9);
    }
    for (const auto& [column, value] : entries) {
      columns.push_back(column);
      values.push_back(value);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<double>(n, n, offsets, columns, values);
}

TEST(Partition, SharesOutPathOfRowsAndNonzeros) {
  const Csr<double> a = scattered(300);
  for (const int parts : {1, 2, 3, 7, 16}) {
    const Partition partition = Partition::by_nonzeros(a.view(), parts);
    ASSERT_EQ(partition.parts(), parts);
    EXPECT_EQ(partition.rows(), 300);
    offset_t longest = 0;
    for (index_t row = 0; row < 300; ++row)
      longest = std::max(longest, a.row_offsets()[row + 1] - a.row_offsets()[row]);
    for (int part = 0; part < parts; ++part) {
      const index_t first = partition.first_row(part);
      const index_t last = partition.first_row(part + 1);
      const offset_t weight = a.row_offsets()[last] - a.row_offsets()[first] + last - first;
      EXPECT_LE(std::abs(weight - (a.nnz() + 300) / parts), longest + 2) << part << " of " << parts;
      EXPECT_EQ(partition.part_of(first), part);
      EXPECT_EQ(partition.part_of(last - 1), part);
    }
  }
}

TEST(Partition, EveryPartHasARow) {
  // All nonzeros in the last row, then all in the first.
  const Csr<double> last = make_csr<double>(3, 3, {0, 0, 0, 3}, {0, 1, 2}, {1, 1, 1});
  const Csr<double> first = make_csr<double>(3, 3, {0, 3, 3, 3}, {0, 1, 2}, {1, 1, 1});
  for (const auto* const a : {&last, &first}) {
    const Partition partition = Partition::by_nonzeros(a->view(), 3);
    for (int part = 0; part < 3; ++part) EXPECT_EQ(partition.rows_of(part), 1);
    EXPECT_THROW(static_cast<void>(Partition::by_nonzeros(a->view(), 4)), InvalidArgument);
    EXPECT_THROW(static_cast<void>(Partition::by_nonzeros(a->view(), 0)), InvalidArgument);
  }
  EXPECT_THROW(Partition({0, 2, 2, 3}), InvalidArgument);
  EXPECT_THROW(Partition({1, 3}), InvalidArgument);
  EXPECT_THROW(Partition({0}), InvalidArgument);
}

/// Distinct columns of other parts, counted in sets.
TEST(Partition, HaloIsThatOfThePartsTogether) {
  for (const Csr<double>& a : {scattered(101), poisson2d<double>(9, 11)}) {
    for (const int parts : {1, 2, 5}) {
      const Partition partition = Partition::by_nonzeros(a.view(), parts);
      std::set<std::pair<int, index_t>> needed;
      for (index_t row = 0; row < a.rows(); ++row) {
        for (offset_t k = a.row_offsets()[row]; k < a.row_offsets()[row + 1]; ++k) {
          const int part = partition.part_of(row);
          if (partition.part_of(a.columns()[k]) != part) needed.emplace(part, a.columns()[k]);
        }
      }
      EXPECT_EQ(partition.halo(a.view()), std::ssize(needed)) << parts;
    }
  }
  EXPECT_THROW(static_cast<void>(Partition({0, 5}).halo(scattered(6).view())), DimensionError);
}

/// The entries of a block, by row and column of the whole matrix.
std::map<std::pair<index_t, index_t>, double> entries_of(const detail::RowBlock<double>& block, index_t first_row) {
  std::map<std::pair<index_t, index_t>, double> result;
  const CsrView<double> own = block.diagonal.view();
  for (index_t row = 0; row < own.rows; ++row) {
    for (offset_t k = own.row_offsets[static_cast<std::size_t>(row)];
         k < own.row_offsets[static_cast<std::size_t>(row) + 1]; ++k) {
      result[{first_row + row, first_row + own.columns[static_cast<std::size_t>(k)]}] = own.value(k);
    }
  }
  const CsrView<double> others = block.off_diagonal.view();
  for (index_t k = 0; k < others.rows; ++k) {
    const index_t row = first_row + block.boundary_rows[k];
    for (offset_t e = others.row_offsets[static_cast<std::size_t>(k)];
         e < others.row_offsets[static_cast<std::size_t>(k) + 1]; ++e) {
      const index_t column = block.halo[static_cast<std::size_t>(others.columns[static_cast<std::size_t>(e)])];
      EXPECT_TRUE((result.emplace(std::pair{row, column}, others.value(e)).second)) << row << ", " << column;
    }
  }
  return result;
}

TEST(RowBlock, HoldsTheEntriesOfItsRows) {
  for (const Csr<double>& a : {scattered(101), poisson2d<double>(9, 11), Csr<double>(scattered(40).structure())}) {
    std::map<std::pair<index_t, index_t>, double> wanted;
    for (index_t row = 0; row < a.rows(); ++row) {
      for (offset_t k = a.row_offsets()[row]; k < a.row_offsets()[row + 1]; ++k) {
        wanted[{row, a.columns()[k]}] = a.view().value(k);
      }
    }
    for (const int parts : {1, 2, 5}) {
      const Partition partition = Partition::by_nonzeros(a.view(), parts);
      std::map<std::pair<index_t, index_t>, double> found;
      for (int part = 0; part < parts; ++part) {
        const auto block = detail::make_row_block(a.view(), partition, part, Device::host(2));
        validate(block.diagonal.view());
        validate(block.off_diagonal.view());
        found.merge(entries_of(block, partition.first_row(part)));
        // Every rank finds the elements that it gives in the halo of the other.
        for (int other = 0; other < parts; ++other) {
          const auto rows = detail::RowBlock<double>::rows_for(block, partition, other);
          EXPECT_EQ(rows.empty(), other == part || block.halo_offsets[static_cast<std::size_t>(other)] ==
                                                       block.halo_offsets[static_cast<std::size_t>(other) + 1]);
          for (const index_t row : rows) EXPECT_EQ(partition.part_of(partition.first_row(other) + row), other);
        }
      }
      EXPECT_EQ(found, wanted) << parts << " parts";
    }
  }
}

TEST(Communicator, SumsInTheOrderOfRanks) {
  detail::Communicator communicator({"a", "b", "c"});
  const double values[] = {1e16, 1.0, -1e16};
  double sums[3];
  communicator.run([&](int rank) {
    for (int k = 0; k < 1000; ++k) sums[rank] = communicator.sum(rank, values[rank]);
  });
  for (const double sum : sums) EXPECT_EQ(sum, (1e16 + 1.0) + -1e16);
}

TEST(Communicator, ARankThatFailsEndsTheWaitsOfAll) {
  detail::Communicator communicator({"cuda:0", "cuda:1", "cuda:2"});
  std::atomic<int> left = 0;
  const auto work = [&](int rank) {
    struct Leaving {
      std::atomic<int>& count;
      ~Leaving() { ++count; }
    } const leaving{left};
    for (int k = 0;; ++k) {
      if (rank == 1 && k == 5) throw CudaError(700, "an illegal address");
      static_cast<void>(communicator.sum(rank, k));
    }
  };
  try {
    communicator.run(work);
    FAIL() << "nothing was thrown";
  } catch (const DeviceFailure& failure) {
    EXPECT_EQ(failure.device(), "cuda:1");
    EXPECT_NE(std::string(failure.what()).find("an illegal address"), std::string::npos) << failure.what();
  }
  EXPECT_EQ(left, 3);
  // The next run begins anew.
  communicator.run([&](int rank) { EXPECT_EQ(communicator.sum(rank, 1), 3); });
}

TEST(DistributedMatrix, MultipliesAsOneDevice) {
  for (const Csr<double>& a : {scattered(203), poisson2d<double>(20, 13), poisson3d<double>(5, 6, 7)}) {
    const Vector x = random_values<double>(static_cast<std::size_t>(a.rows()), 3);
    const Vector zeros(x.size());
    const auto oracle = multiply_oracle<double>(1.0, a.view(), x, 0.0, zeros);
    for (const int ranks : {1, 2, 3, 5}) {
      const DistributedMatrix<double> matrix(hosts(ranks), a.view());
      Vector y(x.size(), std::numeric_limits<double>::quiet_NaN());
      matrix.apply(x, y);
      for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(y[i], static_cast<double>(oracle.y[i]), 2 * static_cast<double>(oracle.bound[i])) << i;
      }
      offset_t nnz = 0;
      index_t halo = 0;
      index_t sent = 0;
      for (const DevicePart& part : matrix.parts()) {
        nnz += part.nnz;
        halo += part.halo;
        sent += part.sent;
      }
      EXPECT_EQ(nnz, a.nnz());
      EXPECT_EQ(halo, sent);
      EXPECT_GE(matrix.memory_bytes(), static_cast<std::uint64_t>(a.nnz()) * 12);
    }
  }
}

TEST(DistributedMatrix, RefusesWhatDoesNotFit) {
  const Csr<double> a = poisson2d<double>(4, 4);
  EXPECT_THROW(DistributedMatrix<double>(hosts(2), a.view(), Partition({0, 15})), InvalidArgument);
  EXPECT_THROW(DistributedMatrix<double>(hosts(2), a.view(), Partition({0, 5, 15})), InvalidArgument);
  const Csr<double> wide = make_csr<double>(1, 2, {0, 1}, {1}, {1.0});
  EXPECT_THROW(DistributedMatrix<double>(hosts(1), wide.view()), DimensionError);
  const DistributedMatrix<double> matrix(hosts(2), a.view(), Partition({0, 5, 16}));
  EXPECT_EQ(matrix.parts()[1].rows, 11);
  Vector x(16);
  Vector b(15);
  EXPECT_THROW(matrix.apply(x, b), DimensionError);
  EXPECT_THROW(static_cast<void>(cg<double>(matrix, GroupPreconditioner::identity, b, x)), DimensionError);
}

struct Solution {
  SolveReport report;
  Vector x;
};

Solution solve_on(int ranks, const Csr<double>& a, const Vector& b, GroupPreconditioner precond,
                  const SolverOptions& options = {}, const Vector& guess = {}) {
  const DistributedMatrix<double> matrix(hosts(ranks), a.view());
  Solution result{.report = {}, .x = guess.empty() ? Vector(b.size()) : guess};
  result.report = cg<double>(matrix, precond, b, result.x, options);
  return result;
}

Solution solve_on_one(const Csr<double>& a, const Vector& b, GroupPreconditioner precond,
                      const SolverOptions& options = {}) {
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  Solution result{.report = {}, .x = Vector(b.size())};
  if (precond == GroupPreconditioner::identity) {
    result.report = cg<double>(plan, b, result.x, options);
  } else {
    result.report = cg<double>(plan, JacobiPreconditioner<double>(a.view()), b, result.x, options);
  }
  return result;
}

TEST(CgOnSeveralDevices, SolvesAsOneDevice) {
  for (const Csr<double>& a : {anisotropic2d<double>(25, 31, 0.05), poisson3d<double>(9, 8, 7)}) {
    const Vector b = random_values<double>(static_cast<std::size_t>(a.rows()), 17);
    for (const auto precond : {GroupPreconditioner::identity, GroupPreconditioner::jacobi}) {
      const SolverOptions options{.relative_tolerance = 1e-11};
      const Solution one = solve_on_one(a, b, precond, options);
      for (const int ranks : {1, 2, 4}) {
        const Solution several = solve_on(ranks, a, b, precond, options);
        EXPECT_EQ(several.report.status, Status::converged) << several.report.reason;
        expect_honest(several.report, a.view(), b, several.x);
        EXPECT_NEAR(static_cast<double>(several.report.iterations), static_cast<double>(one.report.iterations), 2.0);
        EXPECT_EQ(several.report.preconditioner_count > 0, precond == GroupPreconditioner::jacobi);
        double largest = 0.0;
        double difference = 0.0;
        for (std::size_t i = 0; i < b.size(); ++i) {
          largest = std::max(largest, std::abs(one.x[i]));
          difference = std::max(difference, std::abs(one.x[i] - several.x[i]));
        }
        EXPECT_LE(difference, 1e-8 * largest) << ranks << " ranks";
        // The sums of one rank are those of one device.
        if (ranks == 1) {
          EXPECT_EQ(several.x, one.x);
        }
      }
    }
  }
}

TEST(CgOnSeveralDevices, GivesTheSameBitsFromRunToRun) {
  const Csr<double> a = poisson2d<double>(40, 37);
  const Vector b = random_values<double>(static_cast<std::size_t>(a.rows()), 1);
  const Solution first = solve_on(3, a, b, GroupPreconditioner::jacobi);
  for (int run = 0; run < 5; ++run) {
    const Solution again = solve_on(3, a, b, GroupPreconditioner::jacobi);
    EXPECT_EQ(again.x, first.x);
    EXPECT_EQ(again.report.reason, first.report.reason);
  }
}

TEST(CgOnSeveralDevices, EndsAsOneDeviceDoes) {
  const Csr<double> a = poisson2d<double>(12, 12);
  const Vector b = random_values<double>(144, 2);
  constexpr auto identity = GroupPreconditioner::identity;

  EXPECT_EQ(solve_on(2, a, b, identity, {.max_iterations = 3}).report.iterations, 3);
  EXPECT_EQ(solve_on(2, a, b, identity, {.max_iterations = 3}).report.status, Status::max_iterations);
  EXPECT_EQ(solve_on(3, a, b, identity, {.time_limit_seconds = 0.0}).report.status, Status::time_limit);

  SolverOptions watched;
  const std::thread::id caller = std::this_thread::get_id();
  watched.observer = [&](const IterationInfo& info) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return info.iteration == 4 ? Control::stop : Control::proceed;
  };
  watched.keep_history = true;
  const Solution stopped = solve_on(3, a, b, identity, watched);
  EXPECT_EQ(stopped.report.status, Status::interrupted);
  EXPECT_EQ(stopped.report.iterations, 4);
  EXPECT_EQ(stopped.report.history.size(), 5U);

  const Solution of_zero = solve_on(2, a, Vector(144), identity, {}, Vector(144, 1.0));
  EXPECT_EQ(of_zero.report.status, Status::converged);
  EXPECT_EQ(of_zero.x, Vector(144));

  Vector bad = b;
  bad[100] = std::numeric_limits<double>::infinity();
  const Solution refused = solve_on(2, a, bad, identity);
  EXPECT_EQ(refused.report.status, Status::not_finite);
  EXPECT_EQ(refused.report.reason, "b[100] is inf");

  const Csr<double> indefinite = tridiagonal<double>(60, 1.0, -2.5, 1.0);
  const Solution broken = solve_on(2, indefinite, random_values<double>(60, 1), identity);
  EXPECT_EQ(broken.report.status, Status::breakdown);
  EXPECT_EQ(broken.report.breakdown, Breakdown::indefinite);
}

TEST(CgOnSeveralDevices, AnExceptionOfTheObserverEndsAllRanks) {
  const Csr<double> a = poisson2d<double>(12, 12);
  const Vector b(144, 1024.0);
  const DistributedMatrix<double> matrix(hosts(3), a.view());
  Vector x(144, 3.0);
  SolverOptions options;
  options.observer = [](const IterationInfo& info) -> Control {
    if (info.iteration == 0) throw std::logic_error("enough");
    return Control::proceed;
  };
  EXPECT_THROW(static_cast<void>(cg<double>(matrix, GroupPreconditioner::identity, b, x, options)), std::logic_error);
  // In the caller's units, on every rank.
  EXPECT_EQ(x, Vector(144, 3.0));
  options.observer = {};
  EXPECT_TRUE(cg<double>(matrix, GroupPreconditioner::identity, b, x, options).converged());
}

TEST(CgOnSeveralDevices, JacobiNamesTheRowOfTheWholeMatrix) {
  const Csr<double> a = make_csr<double>(4, 4, {0, 1, 2, 3, 4}, {0, 1, 2, 2}, {1, 1, 1, 1});
  const DistributedMatrix<double> matrix(hosts(2), a.view());
  Vector x(4);
  const Vector b(4, 1.0);
  try {
    static_cast<void>(cg<double>(matrix, GroupPreconditioner::jacobi, b, x));
    FAIL() << "nothing was thrown";
  } catch (const InvalidMatrix& error) {
    EXPECT_EQ(std::string(error.what()), "Jacobi needs a full diagonal: row 4 has no diagonal entry");
  }
}

/// An operator of a rank that fails in the middle of a solve.
class Failing final : public LinearOperator<double> {
 public:
  Failing(const LinearOperator<double>& a, int products) : a_(a), left_(products) {}
  [[nodiscard]] std::int64_t rows() const override { return a_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return a_.cols(); }
  [[nodiscard]] Device device() const override { return a_.device(); }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    if (left_-- == 0) throw CudaError(719, "unspecified launch failure");
    a_.apply(alpha, x, beta, y);
  }

 private:
  const LinearOperator<double>& a_;
  mutable int left_;
};

TEST(CgOnSeveralDevices, ADeviceThatFailsEndsTheSolveWithItsName) {
  const DeviceGroup group = hosts(3);
  const Csr<double> a = tridiagonal<double>(30, 0.0, 2.0, 0.0);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  std::vector<Vector> x(3, Vector(30, 8.0));
  try {
    group.impl()->run([&](int rank) {
      const Device device = group.impl()->rank(rank, 30 * rank, 90);
      const auto local = [&](std::span<const double> from, std::span<double> to) { plan.apply(from, to); };
      const FunctionOperator<double> rows(30, 30, local, device);
      const Failing failing(rows, rank == 1 ? 1 : -1);
      const Vector b(30, 4096.0);
      const IdentityOperator<double> none(30, device);
      SolverOptions options{.relative_tolerance = 0.0, .stagnation_window = 100000};
      static_cast<void>(cg<double>(failing, none, b, x[static_cast<std::size_t>(rank)], options));
    });
    FAIL() << "nothing was thrown";
  } catch (const DeviceFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("unspecified launch failure"), std::string::npos);
  }
}

TEST(DeviceGroup, ReadsItsName) {
  EXPECT_TRUE(DeviceGroup::is_group("cuda:0,1"));
  EXPECT_TRUE(DeviceGroup::is_group("cuda:all"));
  EXPECT_TRUE(DeviceGroup::is_group("host,host,host"));
  for (const char* const other : {"host", "cuda", "cuda:1", "auto", "host,", "host,cuda", "host,hosts", ""}) {
    EXPECT_FALSE(DeviceGroup::is_group(other)) << other;
  }
  EXPECT_EQ(DeviceGroup::parse("host,host,host").size(), 3);
  EXPECT_FALSE(DeviceGroup::parse("host,host").has_peer_access());
  for (const char* const wrong : {"host", "cuda:,1", "cuda:0,", "cuda:0,x", "cuda:-1,0"}) {
    EXPECT_THROW(static_cast<void>(DeviceGroup::parse(wrong)), InvalidArgument) << wrong;
  }
  EXPECT_THROW(DeviceGroup({}), InvalidArgument);
  EXPECT_THROW(DeviceGroup({Device::host(1)}, {.patience_seconds = 0.0}), InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
