// Several right-hand sides at once: every column as the solve of its own, columns that drop out, layouts, refusals.
#include "tests/solvers/multiple_right_sides_cases.hpp"

#include "solvers/panel/panel.hpp"
#include "tessera/error.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

#include <Eigen/SparseCholesky>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace tessera::testing {
namespace {

/// A CSR matrix whose rows are summed in their order, for one vector and for several, and which counts the columns of
/// its products.
class Counting : public LinearOperator<double> {
 public:
  explicit Counting(Csr<double> a) : a_(std::move(a)) {}
  [[nodiscard]] std::int64_t rows() const override { return a_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return a_.cols(); }
  [[nodiscard]] const Csr<double>& matrix() const { return a_; }
  mutable std::vector<std::int64_t> widths;  ///< of the products with several columns

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    for (std::int64_t i = 0; i < rows(); ++i) {
      const double sum = alpha * row(i, x.data(), 1);
      double& element = y[static_cast<std::size_t>(i)];
      element = beta == 0.0 ? sum : sum + beta * element;
    }
  }
  void multiply(const MultiVectorView<const double>& x, const MultiVectorView<double>& y) const {
    widths.push_back(x.columns());
    for (std::int64_t j = 0; j < x.columns(); ++j) {
      for (std::int64_t i = 0; i < rows(); ++i) y(i, j) = row(i, x.data() + j * x.column_stride(), x.row_stride());
    }
  }

 private:
  [[nodiscard]] double row(std::int64_t i, const double* x, std::int64_t stride) const {
    const CsrView<double> a = a_.view();
    double sum = 0.0;
    for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < a.row_offsets[static_cast<std::size_t>(i) + 1];
         ++k) {
      sum += a.value(k) * x[a.columns[static_cast<std::size_t>(k)] * stride];
    }
    return sum;
  }
  Csr<double> a_;
};

class CountingMany final : public Counting, public MultiVectorOperator<double> {
 public:
  using Counting::Counting;
  void apply_many(const MultiVectorView<const double>& x, const MultiVectorView<double>& y) const override {
    multiply(x, y);
  }
};

constexpr IterativeMethod together[] = {IterativeMethod::cg, IterativeMethod::bicgstab, IterativeMethod::gmres};

[[nodiscard]] std::string name_of(IterativeMethod method) { return std::string(to_string(method)); }

TEST(MultipleRightSides, RowOfElementDivides) {
  for (int columns = 1; columns <= most_panel_columns; ++columns) {
    const fused::RowOfElement row(columns);
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1}, std::int64_t{12345}, (std::int64_t{1} << 53) + 7}) {
      EXPECT_EQ(row(i * columns), i) << columns;
      EXPECT_EQ(row(i * columns + columns - 1), i) << columns;
    }
  }
}

TEST(MultipleRightSides, EveryColumnHasTheBitsOfItsOwnSolve) {
  const CountingMany many(poisson2d<double>(9, 8));
  const Counting single(poisson2d<double>(9, 8));
  const JacobiPreconditioner<double> jacobi(many.matrix().view());
  const IdentityOperator<double> identity(72);
  const Counting full(tridiagonal<double>(72, 0.25, 1.0, 0.25));
  const std::pair<const char*, const LinearOperator<double>*> preconditioners[] = {
      {"identity", &identity}, {"jacobi", &jacobi}, {"an operator", &full}};
  for (const IterativeMethod method : together) {
    for (const auto& [name, m] : preconditioners) {
      for (const std::int64_t interval : {0, 4}) {
        const Sides sides = sides_of_poisson(9, 8, 11);
        const SolverOptions options{
            .relative_tolerance = 1e-11, .replacement_interval = interval, .keep_history = true};
        const std::string where = name_of(method) + ", " + name + ", interval " + std::to_string(interval);
        const SolvedColumns apart = solve_one_by_one(method, single, *m, sides, options);
        expect_same_bits(solve_together(method, many, *m, sides, options), apart, where);
        expect_same_bits(solve_together(method, single, *m, sides, options), apart, where + ", column by column");
        EXPECT_TRUE(apart.reports[1].converged()) << apart.reports[1].reason;
        EXPECT_EQ(apart.reports[3].status, Status::not_finite);
      }
    }
  }
}

TEST(MultipleRightSides, LimitsAndUnattainableTolerancesEndAsAlone) {
  const CountingMany a(poisson2d<double>(9, 8));
  const IdentityOperator<double> identity(72);
  const Sides sides = sides_of_poisson(9, 8, 9);
  SolverOptions cases[6];
  cases[0].max_iterations = 0;
  cases[1].max_iterations = 5;
  cases[2].relative_tolerance = 1e-18;
  cases[3].base = ResidualBase::r0;
  cases[4].divergence_tolerance = 1.0 + 1e-12;
  cases[5].shadow = Shadow::random;
  for (const IterativeMethod method : together) {
    for (SolverOptions& options : cases) {
      options.keep_history = true;
      expect_same_bits(solve_together(method, a, identity, sides, options),
                       solve_one_by_one(method, a, identity, sides, options),
                       name_of(method) + ", case " + std::to_string(&options - cases));
    }
  }
}

TEST(MultipleRightSides, ABreakdownStaysInItsColumn) {
  // The constants are the null space of A: no solution for b = 1, and one for what is orthogonal to it.
  const CountingMany laplacian(path_laplacian(40));
  const IdentityOperator<double> identity(40);
  std::vector<double> orthogonal = random_values<double>(40, 1);
  double mean = 0.0;
  for (const double value : orthogonal) mean += value / 40.0;
  for (double& value : orthogonal) value -= mean;
  const std::vector<double> zero(40, 0.0);
  const Sides sides{{std::vector<double>(40, 1.0), orthogonal, zero}, {zero, zero, std::vector<double>(40, 1.0)}};
  const SolvedColumns found = solve_together(IterativeMethod::cg, laplacian, identity, sides, {});
  EXPECT_EQ(found.reports[0].status, Status::breakdown) << found.reports[0].reason;
  EXPECT_TRUE(found.reports[1].converged()) << found.reports[1].reason;
  expect_same_bits(found, solve_one_by_one(IterativeMethod::cg, laplacian, identity, sides, {}), "cg");

  // A rotation in the first two unknowns: A p is orthogonal to the shadow vector r.
  std::vector<offset_t> offsets{0, 1, 2};
  std::vector<index_t> columns{1, 0};
  std::vector<double> values{1.0, -1.0};
  for (index_t i = 2; i < 10; ++i) {
    columns.push_back(i);
    values.push_back(1.0 + i);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const CountingMany rotation(make_csr<double>(10, 10, offsets, columns, values));
  const IdentityOperator<double> small(10);
  std::vector<double> turned(10, 0.0);
  turned[0] = 3.0;
  std::vector<double> plain(10, 1.0);
  plain[0] = plain[1] = 0.0;
  const Sides others{{plain, turned, times(2.0, plain)}, Columns(3, std::vector<double>(10, 0.0))};
  const SolvedColumns turned_too = solve_together(IterativeMethod::bicgstab, rotation, small, others, {});
  EXPECT_FALSE(turned_too.reports[1].breakdowns.empty());
  EXPECT_TRUE(turned_too.reports[0].breakdowns.empty());
  EXPECT_TRUE(turned_too.reports[2].converged()) << turned_too.reports[2].reason;
  expect_same_bits(turned_too, solve_one_by_one(IterativeMethod::bicgstab, rotation, small, others, {}), "bicgstab");
}

TEST(MultipleRightSides, ColumnsThatHaveConvergedLeaveTheProduct) {
  const CountingMany a(poisson2d<double>(9, 8));
  const IdentityOperator<double> identity(72);
  const Sides sides = sides_of_poisson(9, 8, 8);
  const SolvedColumns found = solve_together(IterativeMethod::cg, a, identity, sides, {});
  std::vector<std::int64_t> iterations;
  for (const SolveReport& report : found.reports) {
    EXPECT_EQ(report.replacements + report.restarts, 0);
    iterations.push_back(report.iterations);
  }
  std::sort(iterations.begin(), iterations.end());
  // A column of i iterations is in the first i products.
  std::vector<std::int64_t> expected;
  for (std::int64_t done = 0; done < iterations.back(); ++done) {
    const auto left = std::count_if(iterations.begin(), iterations.end(), [&](std::int64_t all) { return all > done; });
    if (left > 1) expected.push_back(left);
  }
  EXPECT_EQ(a.widths, expected);
  EXPECT_EQ(a.widths.front(), 4);  // without 0, NaN, infinity, the exact guess
  EXPECT_EQ(a.widths[1], 3);       // without the eigenvector
}

TEST(MultipleRightSides, AnyNumberOfColumnsInAnyLayout) {
  using enum MultiVectorLayout;
  const CountingMany a(poisson2d<double>(6, 5));
  const JacobiPreconditioner<double> jacobi(a.matrix().view());
  for (const IterativeMethod method : together) {
    for (const int count : {0, 1, 7, 33}) {
      const Sides sides = sides_of_poisson(6, 5, count);
      const SolvedColumns apart = solve_one_by_one(method, a, jacobi, sides, {});
      for (const Placement& placement :
           {Placement{column_major, column_major, 0}, Placement{row_major, row_major, 3},
            Placement{column_major, row_major, 2}, Placement{row_major, column_major, 1}}) {
        a.widths.clear();
        expect_same_bits(solve_together(method, a, jacobi, sides, {}, placement), apart,
                         name_of(method) + ", " + std::to_string(count) + " columns");
        for (const std::int64_t width : a.widths) EXPECT_LE(width, most_panel_columns);
      }
    }
  }
}

TEST(MultipleRightSides, EmptySystem) {
  const SpmvPlan<double> plan(make_csr<double>(0, 0, {0}, {}, {}));
  const Sides sides{Columns(3), Columns(3)};
  for (const IterativeMethod method : together) {
    const SolvedColumns found = solve_together(method, plan, IdentityOperator<double>(0), sides, {});
    ASSERT_EQ(found.reports.size(), 3u);
    for (const SolveReport& report : found.reports) EXPECT_EQ(report.reason, "the system is empty");
  }
}

TEST(MultipleRightSides, PlansAgreeWithEigen) {
  const Csr<double> a = poisson2d<double>(17, 13);
  const auto n = static_cast<std::size_t>(a.rows());
  Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> factors(to_eigen(a.view()));
  Sides sides;
  for (std::uint64_t j = 0; j < 9; ++j) sides.b.push_back(random_values<double>(n, j));
  sides.x.assign(9, std::vector<double>(n, 0.0));
  const SolverOptions options{.relative_tolerance = 1e-12};
  for (const SpmvAlgorithm kernel : {SpmvAlgorithm::csr, SpmvAlgorithm::merbit, SpmvAlgorithm::tiles}) {
    const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()), {.algorithm = kernel, .device = {}});
    for (const IterativeMethod method : together) {
      const SolvedColumns apart = solve_one_by_one(method, plan, IdentityOperator<double>(a.rows()), sides, options);
      const SolvedColumns found = solve_together(method, plan, IdentityOperator<double>(a.rows()), sides, options);
      for (std::size_t j = 0; j < sides.b.size(); ++j) {
        EXPECT_TRUE(found.reports[j].converged()) << found.reports[j].reason;
        expect_honest(found.reports[j], plan.matrix(), sides.b[j], found.x[j]);
        // Sums in another order; BiCGSTAB amplifies their rounding.
        const std::int64_t slack = method == IterativeMethod::bicgstab ? 10 : 1;
        EXPECT_NEAR(static_cast<double>(found.reports[j].iterations), static_cast<double>(apart.reports[j].iterations),
                    static_cast<double>(slack));
        const Eigen::VectorXd exact =
            factors.solve(Eigen::Map<const Eigen::VectorXd>(sides.b[j].data(), static_cast<Eigen::Index>(n)));
        // The smallest eigenvalue is 8 sin²(π / 36) at the least, above 0.06: |e| <= rtol ‖b‖ / 0.06.
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_NEAR(found.x[j][i], exact[static_cast<Eigen::Index>(i)], 1e-12 * found.reports[j].b_norm / 0.06);
        }
      }
    }
  }
}

TEST(MultipleRightSides, OneProductServesManyThreads) {
  const SmallGrain grain;
  const CountingMany a(poisson2d<double>(40, 30));
  const IdentityOperator<double> identity(1200);
  const Sides sides = sides_of_poisson(40, 30, 10);
  for (const IterativeMethod method : together) {
    expect_same_bits(solve_together(method, a, identity, sides, {}), solve_one_by_one(method, a, identity, sides, {}),
                     name_of(method));
  }
}

TEST(MultipleRightSides, FloatColumnsAreHonest) {
  const SpmvPlan<float> plan(poisson2d<float>(9, 8));
  std::vector<float> b = random_values<float>(72 * 5, 1);
  std::vector<float> x(b.size(), 0.0F);
  const auto reports =
      cg<float>(plan, {std::span<const float>(b), 72, 5}, {std::span<float>(x), 72, 5}, {.relative_tolerance = 1e-5});
  for (std::size_t j = 0; j < 5; ++j) {
    const auto at = static_cast<std::ptrdiff_t>(72 * j);
    EXPECT_TRUE(reports[j].converged()) << reports[j].reason;
    expect_honest(reports[j], plan.matrix(), std::vector<float>(b.begin() + at, b.begin() + at + 72),
                  std::vector<float>(x.begin() + at, x.begin() + at + 72));
  }
}

TEST(MultipleRightSides, OtherMethodsRunColumnByColumn) {
  const CountingMany a(poisson2d<double>(6, 5));
  const JacobiPreconditioner<double> jacobi(a.matrix().view());
  const Sides sides = sides_of_poisson(6, 5, 9);
  for (const IterativeMethod method : {IterativeMethod::minres, IterativeMethod::idr, IterativeMethod::richardson}) {
    expect_same_bits(solve_together(method, a, jacobi, sides, {.max_iterations = 40}),
                     solve_one_by_one(method, a, jacobi, sides, {.max_iterations = 40}), "");
  }
  EXPECT_TRUE(a.widths.empty());
}

/// Each has a basis of its own, so it may be at another direction than its neighbours.
TEST(MultipleRightSides, ColumnsOfGmresRestartOnTheirOwn) {
  const CountingMany many(convection_diffusion<double>(9, 8, 1, {.x = 3.0, .y = -1.0}));
  const Counting single(Csr<double>::copy_of(many.matrix().view()));
  std::vector<double> uneven(72);
  for (std::size_t i = 0; i < uneven.size(); ++i) uneven[i] = std::ldexp(1.0, static_cast<int>(i % 5));
  const JacobiPreconditioner<double> diagonal(diagonal_matrix(uneven).view());
  const CountingMany full(tridiagonal<double>(72, 0.25, 1.0, 0.25));
  const IdentityOperator<double> identity(72);
  const std::pair<const char*, const LinearOperator<double>*> preconditioners[] = {
      {"identity", &identity}, {"diagonal", &diagonal}, {"an operator", &full}};
  for (const auto& [name, m] : preconditioners) {
    for (const PreconditionerSide side : {PreconditionerSide::right, PreconditionerSide::left}) {
      for (const int restart : {1, 4, 23}) {
        const Sides sides = sides_of_poisson(9, 8, 9);
        const SolverOptions options{.relative_tolerance = 1e-9,
                                    .max_iterations = 150,
                                    .stagnation_window = 70,
                                    .restart = restart,
                                    .side = side,
                                    .keep_history = true};
        const std::string where = std::string(name) + (side == PreconditionerSide::left ? ", left" : ", right") +
                                  ", m = " + std::to_string(restart);
        many.widths.clear();
        const SolvedColumns found = solve_together(IterativeMethod::gmres, many, *m, sides, options);
        expect_same_bits(found, solve_one_by_one(IterativeMethod::gmres, single, *m, sides, options), where);
        EXPECT_TRUE(restart < 23 || found.reports[1].converged()) << found.reports[1].reason;
        EXPECT_GT(many.widths.size(), 0u) << where;
      }
    }
  }
}

TEST(MultipleRightSides, PanelsOfGmresAreNarrowEnough) {
  using enum IterativeMethod;
  EXPECT_EQ(columns_together(cg, 1000, {}, true), most_panel_columns);
  EXPECT_EQ(columns_together(idr, 1000, {}, true), 1);
  EXPECT_EQ(columns_together(gmres, 1000, {}, true), 8);
  EXPECT_EQ(columns_together(gmres, 1000, {}, false), 4);
  EXPECT_EQ(columns_together(gmres, 1000, {.side = PreconditionerSide::left}, false), 8);
  EXPECT_EQ(columns_together(gmres, 1000, {.restart = 1}, true), most_panel_columns);
  EXPECT_EQ(columns_together(gmres, 1000, {.restart = 1000}, true), 1);
  const CountingMany a(poisson2d<double>(9, 8));
  const IdentityOperator<double> identity(72);
  const Sides sides = sides_of_poisson(9, 8, 20);
  for (const int restart : {50, 1000}) {
    const SolverOptions options{.restart = restart};
    a.widths.clear();
    expect_same_bits(solve_together(gmres, a, identity, sides, options),
                     solve_one_by_one(gmres, a, identity, sides, options), "m = " + std::to_string(restart));
    // Of the first eight columns four are no work; their product and others have at most so many columns.
    EXPECT_LE(*std::max_element(a.widths.begin(), a.widths.end()), columns_together(gmres, 72, options, true));
  }
}

TEST(MultipleRightSides, SidesAndRestartsOutOfRange) {
  const CountingMany a(poisson2d<double>(6, 5));
  const JacobiPreconditioner<double> jacobi(a.matrix().view());
  const Sides sides = sides_of_poisson(6, 5, 2);
  for (const IterativeMethod method : {IterativeMethod::cg, IterativeMethod::bicgstab, IterativeMethod::idr}) {
    EXPECT_THROW((void)solve_together(method, a, jacobi, sides, {.side = PreconditionerSide::left}), InvalidArgument);
  }
  for (const int restart : {-1, 0, 1001}) {
    EXPECT_THROW((void)solve_together(IterativeMethod::gmres, a, jacobi, sides, {.restart = restart}), InvalidArgument);
  }
}

TEST(MultipleRightSides, TheObserverSeesTheWorstColumnAndStopsAll) {
  const CountingMany a(poisson2d<double>(9, 8));
  const IdentityOperator<double> identity(72);
  Sides sides = sides_of_poisson(9, 8, 2);
  sides.b[0] = times(1e6, random_values<double>(72, 9));  // the larger residual, but not of its target
  for (double& value : sides.x[1]) value *= 100.0;
  std::vector<IterationInfo> seen;
  SolverOptions options{.keep_history = true};
  options.observer = [&](const IterationInfo& info) {
    seen.push_back(info);
    return info.iteration == 6 ? Control::stop : Control::proceed;
  };
  options.stop_cause = [] { return std::string("stopped by the test"); };
  const SolvedColumns found = solve_together(IterativeMethod::cg, a, identity, sides, options);
  ASSERT_EQ(seen.size(), 7u);
  for (std::size_t k = 0; k < seen.size(); ++k) {
    EXPECT_EQ(seen[k].iteration, static_cast<std::int64_t>(k));
    EXPECT_EQ(seen[k].residual, found.reports[1].history[k].recurrence);
    EXPECT_EQ(seen[k].target, found.reports[1].target);
  }
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_EQ(found.reports[j].status, Status::interrupted);
    EXPECT_EQ(found.reports[j].iterations, 6);
    EXPECT_TRUE(found.reports[j].reason.starts_with("stopped by the test after iteration 6; "));
    expect_honest(found.reports[j], a.matrix().view(), sides.b[j], found.x[j]);
  }
  // Of 33 columns the second panel does not iterate.
  seen.clear();
  const SolvedColumns more = solve_together(IterativeMethod::cg, a, identity, sides_of_poisson(9, 8, 40), options);
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(more.reports.back().status, Status::interrupted);
  EXPECT_EQ(more.reports.back().iterations, 0);
}

TEST(MultipleRightSides, ATimeLimitEndsAllColumns) {
  const CountingMany a(poisson2d<double>(9, 8));
  SolverOptions options{.relative_tolerance = 0.0, .max_iterations = 1000000, .time_limit_seconds = 0.02};
  options.stagnation_window = 1000000;
  options.observer = [](const IterationInfo&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Control::proceed;
  };
  const Sides sides = sides_of_poisson(9, 8, 2);
  const SolvedColumns found =
      solve_together(IterativeMethod::bicgstab, a, IdentityOperator<double>(72), sides, options);
  EXPECT_EQ(found.reports[1].status, Status::time_limit) << found.reports[1].reason;
  expect_honest(found.reports[1], a.matrix().view(), sides.b[1], found.x[1]);
}

TEST(MultipleRightSides, AnExceptionLeavesXInTheUnitsOfTheCaller) {
  const CountingMany a(poisson2d<double>(9, 8));
  Sides sides = sides_of_poisson(9, 8, 2);
  sides.b[0] = times(1e200, sides.b[1]);
  sides.x[0] = times(1e200, sides.x[1]);
  SolverOptions options;
  options.observer = [](const IterationInfo& info) {
    if (info.iteration == 2) throw std::runtime_error("enough");
    return Control::proceed;
  };
  Block b(sides.b, 72, MultiVectorLayout::row_major, 1, Device{});
  Block x(sides.x, 72, MultiVectorLayout::row_major, 1, Device{});
  EXPECT_THROW((void)cg<double>(a, b.view(), x.view(), options), std::runtime_error);
  const Columns left = x.columns();
  for (std::size_t j = 0; j < 2; ++j) {
    std::vector<double> alone = sides.x[j];
    EXPECT_THROW((void)cg<double>(a, sides.b[j], alone, options), std::runtime_error);
    EXPECT_EQ(left[j], alone);
  }
}

TEST(MultipleRightSides, RefusesWhatDoesNotFit) {
  const SpmvPlan<double> plan(poisson2d<double>(3, 2));
  std::vector<double> memory(100, 0.0);
  const std::span<double> all(memory);
  using View = MultiVectorView<double>;
  const auto message = [&](const View& b, const View& x) {
    return message_of<Error>([&] { (void)cg<double>(plan, b, x); });
  };
  EXPECT_EQ(message(View(all, 5, 2), View(all.subspan(50), 6, 2)), "A is 6 x 6: B must have 6 rows, has 5");
  EXPECT_EQ(message(View(all, 6, 2), View(all.subspan(50), 7, 2)), "A is 6 x 6: X must have 6 rows, has 7");
  EXPECT_EQ(message(View(all, 6, 2), View(all.subspan(50), 6, 3)), "B has 2 columns: X must have as many, has 3");
  EXPECT_EQ(message(View(all, 6, 2), View(all.subspan(11), 6, 2)), "B and X must not overlap");
  EXPECT_THROW((void)cg<double>(plan, View(all, 6, 2), View(all.subspan(12), 6, 2), {.max_iterations = -1}),
               InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
