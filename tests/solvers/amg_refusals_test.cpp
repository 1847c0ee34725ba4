/// Refusals of AMG: by row, by size, by option. Indefinite matrices end in a clear status.
#include "tessera/amg.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/amg_systems.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace tessera::testing {
namespace {

std::string refusal(const Csr<double>& a, const AmgOptions& options = {}) {
  try {
    const Amg<double> amg(a.view(), options);
  } catch (const InvalidMatrix& error) {
    return std::string("InvalidMatrix: ") + error.what();
  } catch (const DimensionError& error) {
    return std::string("DimensionError: ") + error.what();
  } catch (const InvalidArgument& error) {
    return std::string("InvalidArgument: ") + error.what();
  }
  return "accepted";
}

void expect_refused(const std::string& found, const std::string& type, const std::string& part) {
  EXPECT_EQ(found.substr(0, type.size()), type) << found;
  EXPECT_NE(found.find(part), std::string::npos) << found;
}

TEST(AmgRefusals, RefusesDiagonalsByRow) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, infinity, -infinity}) {
    for (const index_t row : {0, 7, 299}) {
      std::vector<double> entries(300, 2.0);
      entries[static_cast<std::size_t>(row)] = bad;
      expect_refused(refusal(diagonal_matrix(entries)), "InvalidMatrix", "row " + std::to_string(row + 1) + " ");
    }
  }
  // A diagonal that is not stored.
  expect_refused(refusal(from_dense<double>({{2, -1, 0}, {-1, 0, -1}, {0, -1, 2}}, 3)), "InvalidMatrix", "row 2 ");
}

TEST(AmgRefusals, RefusesEntriesThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Csr<double> a = poisson2d<double>(20, 20);
    std::vector<double> values(a.values().begin(), a.values().end());
    // The entry right of the diagonal in row 211.
    const offset_t k = a.row_offsets()[211] + 3;
    values[static_cast<std::size_t>(k)] = bad;
    const Csr<double> broken(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}),
                             Array<double>::copy_of(values));
    expect_refused(refusal(broken), "InvalidMatrix", "row 212 ");
  }
}

TEST(AmgRefusals, RefusesSizesAndOptions) {
  expect_refused(refusal(from_dense<double>({{1, 2, 3}}, 3)), "DimensionError", "1 x 3");
  const Csr<double> a = poisson2d<double>(10, 10);
  const auto with = [&](auto change) {
    AmgOptions options;
    change(options);
    return refusal(a, options);
  };
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  expect_refused(with([](auto& o) { o.strength_threshold = -0.1; }), "InvalidArgument", "strength_threshold");
  expect_refused(with([](auto& o) { o.strength_threshold = nan; }), "InvalidArgument", "strength_threshold");
  expect_refused(with([](auto& o) { o.coarsest_rows = 0; }), "InvalidArgument", "coarsest_rows");
  expect_refused(with([](auto& o) { o.coarsest_rows = 1001; }), "InvalidArgument", "coarsest_rows");
  expect_refused(with([](auto& o) { o.max_levels = 0; }), "InvalidArgument", "max_levels");
  expect_refused(with([](auto& o) { o.block_size = -1; }), "InvalidArgument", "block_size");
  expect_refused(with([](auto& o) { o.block_size = 17; }), "InvalidArgument", "block_size");
  expect_refused(with([](auto& o) { o.prolongator_damping = 2.0; }), "InvalidArgument", "prolongator_damping");
  expect_refused(with([](auto& o) { o.power_steps = -1; }), "InvalidArgument", "power_steps");
  expect_refused(with([](auto& o) { o.smoother_damping = 0.0; }), "InvalidArgument", "smoother_damping");
  expect_refused(with([](auto& o) { o.chebyshev_degree = 9; }), "InvalidArgument", "chebyshev_degree");
  expect_refused(with([](auto& o) { o.chebyshev_ratio = 1.0; }), "InvalidArgument", "chebyshev_ratio");
  expect_refused(with([](auto& o) { o.sweeps = 0; }), "InvalidArgument", "sweeps");
  expect_refused(with([](auto& o) { o.block_size = 3; }), "DimensionError", "block_size");
  expect_refused(with([](auto& o) { o.near_nullspace.assign(99, 1.0); }), "DimensionError", "near_nullspace");
  expect_refused(with([](auto& o) {
                   o.block_size = 2;
                   o.coordinates.assign(99, 1.0);
                 }),
                 "DimensionError", "coordinates");
  expect_refused(with([](auto& o) { o.coordinates.assign(100, 1.0); }), "InvalidArgument", "block_size");
  expect_refused(with([](auto& o) { o.near_nullspace.assign(100, nan); }), "InvalidArgument", "near_nullspace");
  expect_refused(with([](auto& o) {
                   o.block_size = 2;
                   o.coordinates.assign(100, nan);
                 }),
                 "InvalidArgument", "coordinates");
}

/// An indefinite matrix with a positive diagonal: refused by name, or a clear status; no NaN.
TEST(AmgRefusals, IndefiniteMatrices) {
  const std::vector<Csr<double>> matrices = [] {
    std::vector<Csr<double>> all;
    all.push_back(tridiagonal<double>(400, -1.0, 1.0, -1.0));
    all.push_back(tridiagonal<double>(400, 3.0, 1.0, 3.0));
    const Csr<double> a = poisson2d<double>(30, 30);
    std::vector<double> values(a.values().begin(), a.values().end());
    for (double& value : values) value = value == 4.0 ? 2.5 : value;
    all.emplace_back(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}),
                     Array<double>::copy_of(values));
    return all;
  }();
  for (const Csr<double>& a : matrices) {
    for (const KrylovMethod method : std::initializer_list<KrylovMethod>{&cg<double>, &bicgstab<double>}) {
      std::unique_ptr<Amg<double>> amg;
      try {
        amg = std::make_unique<Amg<double>>(a.view());
      } catch (const InvalidMatrix& error) {
        EXPECT_NE(std::string(error.what()).find("positive"), std::string::npos) << error.what();
        continue;
      }
      const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
      const std::vector<double> b = right_side(a);
      std::vector<double> x(b.size());
      const SolveReport report = method(plan, *amg, b, x, {.max_iterations = 500});
      expect_honest(report, a.view(), b, x);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
