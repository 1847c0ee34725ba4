// Iterative methods kept for many solves, on a GPU: vectors and recorded graphs.
#include "tests/solvers/iterative_solver_cases.hpp"

#include "tessera/context.hpp"
#include "tessera/generators.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {
namespace {

using testing::all_methods;
using testing::right_side;
using testing::Solved;

class CudaIterativeSolver : public testing::CudaTest {};

TEST_F(CudaIterativeSolver, GivesTheBitsOfTheFunction) {
  for (const SpmvAlgorithm kernel : {SpmvAlgorithm::automatic, SpmvAlgorithm::merbit, SpmvAlgorithm::patterns}) {
    const SpmvPlan<double> a(poisson2d<double>(7, 6), SpmvOptions{.algorithm = kernel, .device = gpu()});
    const IdentityOperator<double> none(42, gpu());
    const JacobiPreconditioner<double> jacobi(a.matrix(), gpu());
    const Amg<double> amg(a.matrix(), {}, gpu());
    for (const IterativeMethod method : all_methods) {
      const std::string name = "method " + std::to_string(static_cast<int>(method)) + " on " + a.info().reason;
      const int solves = testing::repetitions(4, 3);
      testing::expect_bits_of_function(method, a, none, name, solves);
      testing::expect_bits_of_function(method, a, jacobi, name + ", Jacobi", solves);
      if (kernel == SpmvAlgorithm::merbit) testing::expect_bits_of_function(method, a, amg, name + ", AMG", solves);
      if (testing::gpu_is_emulated && method == IterativeMethod::bicgstab) break;
    }
  }
}

TEST_F(CudaIterativeSolver, LaterSolvesNeitherAllocateNorRecord) {
  const Context context(gpu());
  const SpmvPlan<double> a(poisson2d<double>(16, 16), SpmvOptions{.device = context});
  const JacobiPreconditioner<double> jacobi(a.matrix(), context);
  const Amg<double> amg(a.matrix(), {}, context);
  const auto b = Array<double>::copy_of(right_side(256, 0), context);
  const auto other = Array<double>::copy_of(right_side(256, 1), context);
  Array<double> x(256, Init::zero, context);
  Array<double> y(256, Init::zero, context);
  for (const IterativeMethod method : {IterativeMethod::cg, IterativeMethod::bicgstab, IterativeMethod::gmres}) {
    for (const LinearOperator<double>* m :
         {static_cast<const LinearOperator<double>*>(&jacobi), static_cast<const LinearOperator<double>*>(&amg)}) {
      IterativeSolver<double> solver(method, a, *m);
      ASSERT_TRUE(solver.solve(b.span(), x.span()).converged());
      const ContextCounts before = context.counts();
      ASSERT_TRUE(solver.solve(other.span(), y.span()).converged());
      EXPECT_EQ(context.counts().allocations, before.allocations);
      EXPECT_EQ(context.counts().recordings, before.recordings);
    }
  }
}

TEST_F(CudaIterativeSolver, FollowsNewValues) {
  const Csr<double> matrix = poisson2d<double>(12, 12);
  std::vector<double> values(matrix.view().values.begin(), matrix.view().values.end());
  for (const SpmvAlgorithm kernel :
       {SpmvAlgorithm::csr_vector, SpmvAlgorithm::merbit, SpmvAlgorithm::patterns, SpmvAlgorithm::sell}) {
    SpmvPlan<double> a(matrix.to(gpu()), SpmvOptions{.algorithm = kernel, .device = gpu()});
    JacobiPreconditioner<double> m(a.matrix(), gpu());
    SolverOptions options;
    IterativeSolver<double> solver(IterativeMethod::cg, a, m, options);
    const std::vector<double> zero(144);
    for (int k = 0; k < 4; ++k) {
      // First other values that repeat, then values that do not.
      const CsrView<double> pattern = matrix.view();
      for (std::size_t row = 0; row < 144; ++row) {
        const auto end = static_cast<std::size_t>(pattern.row_offsets[row + 1]);
        for (auto at = static_cast<std::size_t>(pattern.row_offsets[row]); at < end; ++at) {
          const auto column = static_cast<std::size_t>(pattern.columns[at]);
          const double off_diagonal = k < 2 ? -1.0 - k : -1.0 - 1e-3 * static_cast<double>(row * column % 11);
          values[at] = row == column ? 10.0 + k : off_diagonal;
        }
      }
      a.update_values(values);
      m.refresh(a.matrix());
      const std::vector<double> b = right_side(144, k);
      const Solved kept = testing::solved(gpu(), b, zero, [&](auto r, auto x) { return solver.solve(r, x); });
      const Solved anew = testing::solved(gpu(), b, zero, [&](auto r, auto x) {
        return testing::solve_by_function(IterativeMethod::cg, a, m, r, x, options);
      });
      testing::expect_same(kept, anew, a.info().reason + ", values " + std::to_string(k));
      EXPECT_TRUE(kept.report.converged()) << kept.report.reason;
    }
  }
}

}  // namespace
}  // namespace tessera
