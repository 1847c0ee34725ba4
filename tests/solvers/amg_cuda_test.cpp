/// AMG on a GPU: the hierarchy of the host bit by bit, its iterations to one, the same bits from run to run, and loops
/// that the GPU runs by itself.
#include "core/cuda/capture.hpp"
#include "core/cuda/context.hpp"
#include "tessera/amg.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/amg_systems.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::testing {
namespace {

class AmgOnGpu : public CudaTest {};

struct Case {
  std::string name;
  Csr<double> matrix;
  AmgOptions options;
};

std::vector<Case> cases() {
  const std::int64_t n = repetitions(40, 16);
  std::vector<Case> all;
  const auto add = [&](std::string name, Csr<double> matrix, AmgOptions options = {.coarsest_rows = 30}) {
    all.push_back({std::move(name), std::move(matrix), std::move(options)});
  };
  const auto side = std::to_string(n);
  add("poisson2d", poisson2d<double>(2 * n, n));
  add("poisson3d 27 points", poisson3d<double>(n / 2, n / 3, n / 3, Stencil3d::twentyseven_point));
  add("anisotropic", anisotropic2d<double>(n, n, 0.01));
  add("jumps", jump3d<double>(n / 2, n / 2, n / 2, {.block = 4}));
  add("neumann, shuffled", generated("poisson2d:" + side + ",neumann=1,shuffle=1"));
  add("star", star_matrix(static_cast<index_t>(20 * n)));
  add("identity rows", with_identity_rows(n));
  add("kept structures", poisson2d<double>(n, n), {.coarsest_rows = 30, .prepare_refresh = true});
  add("not smoothed", poisson2d<double>(n, n), {.coarsest_rows = 30, .prolongator_damping = 0.0});
  AmgOptions elastic{.coarsest_rows = 30, .block_size = 3};
  add("blocks", elasticity3d<double>(n / 4), elastic);
  add("blocks, found", elasticity3d<double>(n / 4), {.coarsest_rows = 30});
  add("full second level", generated("plgraph:8000"));
  elastic.coordinates = generator_coordinates(parse_generator("elasticity3d:" + std::to_string(n / 4)));
  add("rigid-body modes", elasticity3d<double>(n / 4), elastic);
  return all;
}

template <class T>
void expect_same_array(const Array<T>& gpu, const Array<T>& host) {
  const Array<T> found = gpu.to(Device{});
  EXPECT_TRUE(same_bytes(found.span(), host.span()));
}

template <class T>
void expect_same_hierarchy(const detail::AmgHierarchy<T>& gpu, const detail::AmgHierarchy<T>& host) {
  ASSERT_EQ(gpu.levels.size(), host.levels.size());
  for (std::size_t l = 0; l < gpu.levels.size(); ++l) {
    SCOPED_TRACE(l);
    expect_identical(gpu.levels[l].a->to(Device{}).view(), host.levels[l].a->view());
    EXPECT_EQ(gpu.levels[l].rho, host.levels[l].rho);
    expect_same_array(gpu.levels[l].smoother, host.levels[l].smoother);
    if (l + 1 == gpu.levels.size()) continue;
    expect_identical(gpu.levels[l].p->to(Device{}).view(), host.levels[l].p->view());
    expect_identical(gpu.levels[l].r->to(Device{}).view(), host.levels[l].r->view());
  }
  expect_same_array(gpu.coarsest_inverse, host.coarsest_inverse);
}

template <class T>
void expect_same_setup(const Csr<T>& a, const AmgOptions& options, const Device& gpu) {
  const Csr<T> there = a.to(gpu);
  const detail::AmgSetup<T> on_gpu(there.view(), options, gpu);
  const detail::AmgSetup<T> on_host(a.view(), options, Device{});
  expect_same_hierarchy(on_gpu.hierarchy(), on_host.hierarchy());
  ASSERT_EQ(on_gpu.structures().size(), on_host.structures().size());
  for (std::size_t l = 0; l < on_gpu.structures().size(); ++l) {
    EXPECT_EQ(aggregates_of(on_gpu, l), aggregates_of(on_host, l)) << l;
  }
}

TEST_F(AmgOnGpu, HierarchyOfTheHostBitByBit) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    expect_same_setup(each.matrix, each.options, gpu());
  }
  expect_same_setup(poisson2d<float>(20, 31), {.coarsest_rows = 30}, gpu());
  expect_same_setup(convection_diffusion<double>(9, 8, 10, {.x = 2, .y = -1}), {.coarsest_rows = 30}, gpu());
}

TEST_F(AmgOnGpu, RefreshOfTheHostBitByBit) {
  for (const bool prepared : {false, true}) {
    const AmgOptions options{.coarsest_rows = 30, .prepare_refresh = prepared};
    const Csr<double> a = jump3d<double>(9, 8, 7, {.block = 3, .seed = 1});
    const Csr<double> b = jump3d<double>(9, 8, 7, {.block = 3, .seed = 2});
    const Csr<double> a_there = a.to(gpu());
    const Csr<double> b_there = b.to(gpu());
    detail::AmgSetup<double> on_gpu(a_there.view(), options, gpu());
    detail::AmgSetup<double> on_host(a.view(), options, Device{});
    on_gpu.refresh(b_there.view());
    on_host.refresh(b.view());
    expect_same_hierarchy(on_gpu.hierarchy(), on_host.hierarchy());
    on_gpu.refresh(a_there.view());
    on_host.refresh(a.view());
    expect_same_hierarchy(on_gpu.hierarchy(), on_host.hierarchy());
  }
}

struct Solved {
  SolveReport report;
  std::vector<double> x;
  bool is_symmetric = false;
};

enum class Method { cg, bicgstab, richardson };

/// b = A x* with scattered x*, which is consistent for singular A.
Solved solve(const Case& each, const Device& device, Method method = Method::cg) {
  const auto matrix = std::make_shared<const Csr<double>>(each.matrix.to(device));
  const SpmvPlan<double> plan(
      matrix, {.algorithm = SpmvAlgorithm::merbit, .device = device, .determinism = Determinism::run_to_run});
  const Amg<double> amg(matrix->view(), each.options, device);
  const auto n = static_cast<std::size_t>(matrix->rows());
  const std::vector<double> values = product(each.matrix.view(), random_values<double>(n, 29));
  const auto b = Array<double>::copy_of(values, device);
  Array<double> x(matrix->rows(), Init::zero, device);
  Solved result;
  if (method == Method::cg) result.report = cg<double>(plan, amg, b.span(), x.span());
  if (method == Method::bicgstab) result.report = bicgstab<double>(plan, amg, b.span(), x.span());
  if (method == Method::richardson) result.report = richardson<double>(plan, amg, b.span(), x.span());
  const Array<double> found = x.to(Device{});
  result.x.assign(found.begin(), found.end());
  result.is_symmetric = amg.info().is_symmetric;
  expect_honest(result.report, each.matrix.view(), values, result.x);
  return result;
}

TEST_F(AmgOnGpu, IterationsOfTheHost) {
  const std::vector<Case> all = cases();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (gpu_is_emulated && i % 3 != 0) continue;
    const Case& each = all[i];
    SCOPED_TRACE(each.name);
    const Solved there = solve(each, gpu());
    const Solved here = solve(each, Device{});
    EXPECT_TRUE(there.report.converged()) << there.report.reason;
    EXPECT_LE(std::abs(there.report.iterations - here.report.iterations), 1)
        << there.report.iterations << " and on the host " << here.report.iterations;
    EXPECT_EQ(there.is_symmetric, here.is_symmetric);
  }
}

TEST_F(AmgOnGpu, OtherMethods) {
  const Case convection{"convection", convection_diffusion<double>(9, 8, 10, {.x = 2, .y = -1}), {.coarsest_rows = 30}};
  const Case flat{"poisson", poisson2d<double>(22, 20), {.coarsest_rows = 30}};
  for (const Method method : {Method::bicgstab, Method::richardson}) {
    const Case& each = method == Method::bicgstab ? convection : flat;
    const Solved there = solve(each, gpu(), method);
    const Solved here = solve(each, Device{}, method);
    EXPECT_TRUE(there.report.converged()) << there.report.reason;
    EXPECT_LE(std::abs(there.report.iterations - here.report.iterations), 1);
  }
}

TEST_F(AmgOnGpu, CyclesSmoothersAndPrecisions) {
  for (const AmgSmoother smoother :
       {AmgSmoother::jacobi, AmgSmoother::l1_jacobi, AmgSmoother::spai0, AmgSmoother::chebyshev}) {
    for (const AmgCycle cycle : {AmgCycle::v, AmgCycle::w, AmgCycle::k}) {
      if (gpu_is_emulated && static_cast<int>(smoother) % 3 != static_cast<int>(cycle)) continue;
      SCOPED_TRACE(std::string(to_string(smoother)) + ' ' + std::string(to_string(cycle)));
      const bool full = cycle == AmgCycle::w;
      const Case each{"poisson",
                      poisson2d<double>(repetitions(30, 12), 14),
                      {.coarsest_rows = 12,
                       .cycle = cycle,
                       .smoother = smoother,
                       .precision = full ? AmgPrecision::full : AmgPrecision::single}};
      const Solved there = solve(each, gpu());
      const Solved here = solve(each, Device{});
      EXPECT_TRUE(there.report.converged()) << there.report.reason;
      EXPECT_LE(std::abs(there.report.iterations - here.report.iterations), 1);
    }
  }
}

TEST_F(AmgOnGpu, RunToRunIsBitwiseEqual) {
  const Case each{"poisson", poisson3d<double>(11, 10, 9), {.coarsest_rows = 30}};
  const Solved first = solve(each, gpu());
  for (int repetition = 1; repetition < repetitions(10, 2); ++repetition) {
    const Solved again = solve(each, gpu());
    EXPECT_EQ(again.report.iterations, first.report.iterations);
    ASSERT_EQ(again.x, first.x);
  }
}

/// The GPU iterates by itself: no allocation per iteration, one wait for several.
TEST_F(AmgOnGpu, IterationsNeitherAllocateNorWait) {
  const auto matrix = std::make_shared<const Csr<double>>(poisson2d<double>(30, 30).to(gpu()));
  const SpmvPlan<double> plan(matrix, {.device = gpu()});
  const Amg<double> amg(matrix->view(), {.coarsest_rows = 30}, gpu());
  const auto b = Array<double>::copy_of(random_values<double>(900, 3), gpu());
  const cuda::Context& context = cuda::Context::of(gpu());
  const auto cost = [&](std::int64_t iterations) {
    Array<double> x(900, Init::zero, gpu());
    const SolverOptions options{.relative_tolerance = 0.0, .max_iterations = iterations, .stagnation_window = 100000};
    const ContextCounts before = context.counts();
    const SolveReport report = cg<double>(plan, amg, b.span(), x.span(), options);
    EXPECT_EQ(report.iterations, iterations) << report.reason;
    const ContextCounts after = context.counts();
    return ContextCounts{after.allocations - before.allocations, after.waits - before.waits};
  };
  const ContextCounts few = cost(4);
  const ContextCounts many = cost(12);
  EXPECT_EQ(many.allocations, few.allocations);
  // Without graphs the host launches a few iterations at a time.
  if (cuda::graphs_are_usable()) {
    EXPECT_LE(many.waits, few.waits + 8 / 4);
  }
}

TEST_F(AmgOnGpu, RefusesWhatTheHostRefuses) {
  std::vector<double> entries(300, 2.0);
  entries[211] = -1.0;
  const Csr<double> negative = diagonal_matrix(entries).to(gpu());
  try {
    const Amg<double> amg(negative.view(), {}, gpu());
    ADD_FAILURE() << "accepted";
  } catch (const InvalidMatrix& error) {
    EXPECT_NE(std::string(error.what()).find("row 212 "), std::string::npos) << error.what();
  }
  const Csr<double> one = diagonal_matrix<double>({4.0}).to(gpu());
  const Amg<double> single(one.view(), {}, gpu());
  const auto r = Array<double>::copy_of(std::vector<double>{2.0}, gpu());
  Array<double> z(1, Init::zero, gpu());
  single.apply(r.span(), z.span());
  EXPECT_EQ(z.to(Device{})[0], 0.5);
  const Csr<double> nothing = Csr<double>{}.to(gpu());
  EXPECT_EQ(Amg<double>(nothing.view(), {}, gpu()).rows(), 0);
}

}  // namespace
}  // namespace tessera::testing
