#include "solvers/distributed/group.hpp"
#include "solvers/distributed/matrix.hpp"
#include "solvers/two_kernel_cg.hpp"
#include "tessera/device_shares.hpp"
#include "tessera/pagerank_several_devices.hpp"
#include "tests/solvers/rank_graphs.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using Vector = std::vector<double>;

/// Two ranks wait for each other, which needs threads of two kernels at once: an emulated GPU has one rank. One GPU
/// serves as two ranks where there is no second.
class SeveralGpus : public CudaTest {
 protected:
  [[nodiscard]] static std::vector<Device> devices() {
    if (gpu_is_emulated) return {gpu()};
    const bool has_second = survey_cuda().devices.size() > 1;
    return {gpu(), Device::cuda(has_second ? 1 : 0)};
  }
  [[nodiscard]] static DeviceGroup group(bool peer_access = true) {
    return DeviceGroup(devices(), {.patience_seconds = 10.0, .peer_access = peer_access});
  }
};

/// Short boundary rows, long ones, and columns all over.
std::vector<std::pair<std::string, Csr<double>>> matrices() {
  std::vector<std::pair<std::string, Csr<double>>> result;
  result.emplace_back("poisson2d", poisson2d<double>(31, 40));
  result.emplace_back("27 points", poisson3d<double>(7, 8, 9, Stencil3d::twentyseven_point));
  const Csr<double> graph = rmat<double>({.scale = 8});
  Array<double> ones(graph.nnz(), Init::none);
  std::fill(ones.begin(), ones.end(), 0.5);
  result.emplace_back("rmat", graph.with_values(std::move(ones)));
  return result;
}

TEST_F(SeveralGpus, MultiplyAsTheOracleDoes) {
  for (const bool peer_access : {true, false}) {
    const DeviceGroup together = group(peer_access);
    for (const auto& [name, a] : matrices()) {
      SCOPED_TRACE(name);
      const Vector x = random_values<double>(static_cast<std::size_t>(a.rows()), 3);
      const auto oracle = multiply_oracle<double>(1.0, a.view(), x, 0.0, Vector(x.size()));
      const DistributedMatrix<double> matrix(together, a.view());
      Vector y(x.size(), std::numeric_limits<double>::quiet_NaN());
      for (int repetition = 0; repetition < 3; ++repetition) {
        matrix.apply(x, y);
        for (std::size_t i = 0; i < y.size(); ++i) {
          ASSERT_NEAR(y[i], static_cast<double>(oracle.y[i]), 2 * static_cast<double>(oracle.bound[i])) << i;
        }
      }
    }
  }
}

/// With a kernel that has no plan of its own size: what exchanges keep is part of both.
TEST_F(SeveralGpus, HoldWhatTheirSharesTell) {
  constexpr std::uint64_t small = 16 * 1024;  // descriptors and sums
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::csr_vector;
  for (const bool peer_access : {true, false}) {
    const DeviceGroup together = group(peer_access);
    for (const auto& [name, a] : matrices()) {
      SCOPED_TRACE(name);
      const Partition partition = Partition::by_nonzeros(a.view(), together.size());
      const std::vector<DeviceShare> shares = device_shares(a.view(), partition);
      const DistributedMatrix<double> matrix(together, a.view(), partition, options);
      for (std::size_t k = 0; k < shares.size(); ++k) {
        const std::uint64_t told =
            shares[k].matrix_bytes + shares[k].halo_bytes + (together.has_peer_access() ? shares[k].peer_bytes : 0);
        EXPECT_LE(matrix.parts()[k].memory_bytes, told + small);
        EXPECT_GE(matrix.parts()[k].memory_bytes + small, told);
      }
    }
  }
}

TEST_F(SeveralGpus, SolveAsTheHostDoes) {
  const index_t side = gpu_is_emulated ? 12 : 40;
  const Csr<double> a = anisotropic2d<double>(side, 33, 0.1);
  const Vector b = random_values<double>(static_cast<std::size_t>(a.rows()), 5);
  const SolverOptions options{.relative_tolerance = 1e-10};
  for (const auto precond : {GroupPreconditioner::identity, GroupPreconditioner::jacobi}) {
    const DistributedMatrix<double> on_hosts(DeviceGroup({Device::host(1), Device::host(1)}), a.view());
    Vector wanted(b.size());
    const SolveReport of_hosts = cg<double>(on_hosts, precond, b, wanted, options);
    for (const bool peer_access : {true, false}) {
      const DistributedMatrix<double> matrix(group(peer_access), a.view());
      Vector x(b.size());
      const SolveReport report = cg<double>(matrix, precond, b, x, options);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      expect_honest(report, a.view(), b, x);
      EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(of_hosts.iterations), 2.0);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], wanted[i], 1e-6) << i;
      Vector again(b.size());
      static_cast<void>(cg<double>(matrix, precond, b, again, options));
      EXPECT_EQ(again, x);
    }
  }
}

/// Whether CG takes two products per iteration there.
template <class T>
bool has_two_kernel_cg(const DeviceGroup& group, const DistributedMatrix<T>& matrix) {
  std::atomic<int> ranks = 0;
  group.impl()->run([&](int rank) {
    const auto* const offers = dynamic_cast<const detail::HasTwoKernelCg<T>*>(&matrix.impl().product(rank));
    if (offers != nullptr && offers->make_two_kernel_cg_steps() != nullptr) ++ranks;
  });
  return ranks == group.size();
}

/// Row templates, for which CG forms its direction in the product.
TEST_F(SeveralGpus, SolveInTwoKernelsAsTheHostDoes) {
  const index_t side = gpu_is_emulated ? 12 : 40;
  const Csr<double> grid = poisson2d<double>(side, 33);
  const Csr<double> box = poisson3d<double>(6, 7, side);
  const SolverOptions options{.relative_tolerance = 1e-10};
  const DeviceGroup hosts({Device::host(1), Device::host(1)});
  for (const Csr<double>* const a : {&grid, &box}) {
    const Vector b = random_values<double>(static_cast<std::size_t>(a->rows()), 5);
    const DeviceGroup gpus = group();
    SpmvOptions by_templates;
    by_templates.algorithm = SpmvAlgorithm::patterns;
    const DistributedMatrix<double> matrix(gpus, a->view(), by_templates);
    EXPECT_TRUE(has_two_kernel_cg(gpus, matrix));
    for (const auto precond : {GroupPreconditioner::identity, GroupPreconditioner::jacobi}) {
      Vector wanted(b.size());
      const SolveReport of_hosts = cg<double>(DistributedMatrix<double>(hosts, a->view()), precond, b, wanted, options);
      Vector x(b.size());
      const SolveReport report = cg<double>(matrix, precond, b, x, options);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      expect_honest(report, a->view(), b, x);
      EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(of_hosts.iterations), 2.0);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], wanted[i], 1e-6) << i;
      Vector again(b.size());
      static_cast<void>(cg<double>(matrix, precond, b, again, options));
      EXPECT_EQ(again, x);
    }
  }
}

TEST_F(SeveralGpus, SolveByBicgstabAsTheHostDoes) {
  const index_t side = gpu_is_emulated ? 12 : 40;
  const Csr<double> a = convection_diffusion<double>(side, 33, 1, {.x = 1.0, .y = -2.0});
  const Vector b = random_values<double>(static_cast<std::size_t>(a.rows()), 5);
  const SolverOptions options{.relative_tolerance = 1e-10};
  for (const auto precond : {GroupPreconditioner::identity, GroupPreconditioner::jacobi}) {
    const DistributedMatrix<double> on_hosts(DeviceGroup({Device::host(1), Device::host(1)}), a.view());
    Vector wanted(b.size());
    const SolveReport of_hosts = bicgstab<double>(on_hosts, precond, b, wanted, options);
    for (const bool peer_access : {true, false}) {
      const DistributedMatrix<double> matrix(group(peer_access), a.view());
      Vector x(b.size());
      const SolveReport report = bicgstab<double>(matrix, precond, b, x, options);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      expect_honest(report, a.view(), b, x);
      EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(of_hosts.iterations), 5.0);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], wanted[i], 1e-6) << i;
      Vector again(b.size());
      static_cast<void>(bicgstab<double>(matrix, precond, b, again, options));
      EXPECT_EQ(again, x);
    }
  }
}

TEST_F(SeveralGpus, SolveInSinglePrecision) {
  const Csr<float> a = poisson2d<float>(gpu_is_emulated ? 12 : 40, 33);
  const std::vector<float> b = random_values<float>(static_cast<std::size_t>(a.rows()), 5);
  const SolverOptions options{.relative_tolerance = 1e-5};
  for (const bool peer_access : {true, false}) {
    const DistributedMatrix<float> matrix(group(peer_access), a.view());
    for (const auto precond : {GroupPreconditioner::identity, GroupPreconditioner::jacobi}) {
      std::vector<float> x(b.size());
      const SolveReport by_cg = cg<float>(matrix, precond, b, x, options);
      EXPECT_EQ(by_cg.status, Status::converged) << by_cg.reason;
      expect_honest(by_cg, a.view(), b, x);
      std::fill(x.begin(), x.end(), 0.0F);
      const SolveReport by_bicgstab = bicgstab<float>(matrix, precond, b, x, options);
      EXPECT_EQ(by_bicgstab.status, Status::converged) << by_bicgstab.reason;
      expect_honest(by_bicgstab, a.view(), b, x);
    }
  }
}

/// Breakdowns halt the loop in the middle of an iteration, on all GPUs; a half step does too.
TEST_F(SeveralGpus, HaltInTheMiddleOfAnIteration) {
  const Csr<double> skew = from_dense<double>({{0, 2, 0, 1}, {-2, 0, 3, 0}, {0, -3, 0, 1}, {-1, 0, -1, 0}}, 4);
  const Vector b{3, 1, -2, -2};
  const Csr<double> diagonal = tridiagonal<double>(60, 0.0, 2.0, 0.0);
  const Vector right = random_values<double>(60, 1);
  constexpr auto identity = GroupPreconditioner::identity;
  for (const bool peer_access : {true, false}) {
    const DistributedMatrix<double> matrix(group(peer_access), skew.view());
    Vector x(4);
    const SolveReport report = bicgstab<double>(matrix, identity, b, x);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_GE(report.restarts, 1);
    for (const double value : x) EXPECT_NEAR(value, 1.0, 1e-6);
    const DistributedMatrix<double> twice(group(peer_access), diagonal.view());
    Vector half(60);
    const SolveReport of_half = bicgstab<double>(twice, identity, right, half);
    EXPECT_TRUE(of_half.converged()) << of_half.reason;
    EXPECT_EQ(of_half.iterations, 1);
  }
}

TEST_F(SeveralGpus, EndAsOneDeviceDoes) {
  const Csr<double> a = poisson2d<double>(24, 24);
  const Vector b = random_values<double>(576, 2);
  const DistributedMatrix<double> matrix(group(), a.view());
  constexpr auto identity = GroupPreconditioner::identity;
  Vector x(576);
  const SolveReport limited = cg<double>(matrix, identity, b, x, {.max_iterations = 7});
  EXPECT_EQ(limited.status, Status::max_iterations);
  EXPECT_EQ(limited.iterations, 7);
  SolverOptions watched;
  watched.observer = [](const IterationInfo& info) { return info.iteration >= 4 ? Control::stop : Control::proceed; };
  std::fill(x.begin(), x.end(), 0.0);
  EXPECT_EQ(cg<double>(matrix, identity, b, x, watched).status, Status::interrupted);
  Vector bad = b;
  bad[500] = std::numeric_limits<double>::quiet_NaN();
  std::fill(x.begin(), x.end(), 0.0);
  EXPECT_EQ(cg<double>(matrix, identity, bad, x).reason, "b[500] is nan");
  std::fill(x.begin(), x.end(), 1.0);
  EXPECT_EQ(cg<double>(matrix, identity, Vector(576), x).status, Status::converged);
  EXPECT_EQ(x, Vector(576));
}

/// Fused iterations where the graph is a pattern, else loops that the host drives; halos in pieces and in lists.
std::vector<std::pair<std::string, Csr<double>>> rank_matrices() {
  std::vector<std::pair<std::string, Csr<double>>> result;
  result.emplace_back("rmat", rmat<double>({.scale = gpu_is_emulated ? 8 : 12}));
  result.emplace_back("grid", Csr<double>(poisson2d<double>(24, gpu_is_emulated ? 20 : 200).structure()));
  result.emplace_back("star", star<double>(700));
  result.emplace_back("full", with_row_lengths<double>(lengths_of(90, 90), 90, ValueStorage::pattern, 3));
  const Csr<double> graph = rmat<double>({.scale = 8});
  Array<double> weights(graph.nnz(), Init::none);
  for (std::int64_t k = 0; k < weights.size(); ++k) weights[k] = 1.0 + static_cast<double>(k % 3);
  result.emplace_back("weighted", graph.with_values(std::move(weights)));
  return result;
}

TEST_F(SeveralGpus, RankAsTheDefinitionSays) {
  for (const bool peer_access : {true, false}) {
    const DeviceGroup together = group(peer_access);
    for (const auto& [name, graph] : rank_matrices()) {
      const TransitionMatrix<double> transition(graph.view());
      const auto n = static_cast<std::size_t>(graph.rows());
      Vector weights(n);
      for (std::size_t i = 0; i < n; ++i) weights[i] = static_cast<double>((i * 7) % 5);
      for (const SpmvAlgorithm algorithm : {SpmvAlgorithm::automatic, SpmvAlgorithm::merbit}) {
        SpmvOptions kernel;
        kernel.algorithm = algorithm;
        const DistributedTransitionMatrix<double> shared(together, transition, kernel);
        for (const Dangling policy : policies) {
          SCOPED_TRACE(name + ", " + std::string(to_string(policy)));
          const PageRankOptions options{.tolerance = 1e-13, .dangling = policy, .personalization = weights};
          const auto result = pagerank(shared, options);
          EXPECT_EQ(result.status, Status::converged) << result.reason;
          LongVector teleport(n);
          long double sum = 0;
          for (const double weight : weights) sum += weight;
          for (std::size_t i = 0; i < n; ++i) teleport[i] = weights[i] / sum;
          EXPECT_LE(l1_distance<double>(result.ranks.span(), pagerank_oracle(graph.view(), teleport, 0.85L, policy)),
                    2e-12L);
          const auto again = pagerank(shared, options);
          EXPECT_TRUE(std::ranges::equal(again.ranks, result.ranks));
          EXPECT_EQ(again.iterations, result.iterations);
          if (gpu_is_emulated) break;
        }
      }
    }
  }
}

TEST_F(SeveralGpus, RankInSinglePrecisionAndEndAsOneDeviceDoes) {
  const Csr<float> graph = rmat<float>({.scale = 9});
  const TransitionMatrix<float> transition(graph.view());
  const auto wanted = pagerank(transition, {.tolerance = 1e-6});
  const DistributedTransitionMatrix<float> shared(group(), transition);
  const auto found = pagerank(shared, {.tolerance = 1e-6});
  EXPECT_EQ(found.status, Status::converged) << found.reason;
  const LongVector ranks(wanted.ranks.begin(), wanted.ranks.end());
  EXPECT_LE(l1_distance<float>(found.ranks.span(), ranks), 1e-6L);
  const auto limited = pagerank(shared, {.tolerance = 0.0, .max_iterations = 5});
  EXPECT_EQ(limited.status, Status::max_iterations);
  EXPECT_EQ(limited.iterations, 5);
  PageRankOptions watched;
  watched.observer = [](const IterationInfo& info) { return info.iteration >= 4 ? Control::stop : Control::proceed; };
  EXPECT_EQ(pagerank(shared, watched).status, Status::interrupted);
}

/// The last rank never starts its product.
TEST_F(SeveralGpus, ADeviceThatDoesNotAnswerEndsTheSolveWithItsName) {
  const Csr<double> a = poisson2d<double>(12, 12);
  const DeviceGroup two({gpu(), gpu()}, {.patience_seconds = 0.2});
  const DistributedMatrix<double> matrix(two, a.view());
  const auto began = std::chrono::steady_clock::now();
  try {
    two.impl()->run([&](int rank) {
      if (rank == 1) return;
      const auto& product = matrix.impl().product(rank);
      const Array<double> x(product.rows(), Init::zero, product.device());
      Array<double> y(product.rows(), Init::none, product.device());
      static_cast<void>(product.apply_and_dot(x.span(), y.span(), x.span()));
    });
    FAIL() << "nothing was thrown";
  } catch (const DeviceFailure& failure) {
    EXPECT_EQ(failure.device(), "cuda:0");
    EXPECT_NE(std::string(failure.what()).find("did not answer"), std::string::npos) << failure.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(gpu_is_emulated ? 60 : 5));
}

/// The host of the last rank gives up while the GPU of the first one waits with long patience.
TEST_F(SeveralGpus, AHostThatFailsEndsTheWaitsOfGpus) {
  if (gpu_is_emulated) GTEST_SKIP() << "kernels run on the thread that launches them";
  const Csr<double> a = poisson2d<double>(12, 12);
  const DeviceGroup two(devices(), {.patience_seconds = 1000.0});
  const DistributedMatrix<double> matrix(two, a.view());
  EXPECT_THROW(two.impl()->run([&](int rank) {
    const auto& product = matrix.impl().product(rank);
    const Array<double> x(product.rows(), Init::zero, product.device());
    Array<double> y(product.rows(), Init::none, product.device());
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      throw InvalidArgument("no more");
    }
    static_cast<void>(product.apply_and_dot(x.span(), y.span(), x.span()));
  }),
               InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
