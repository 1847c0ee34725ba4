/// The multigrid cycle on a GPU against dense textbook formulas, in all layouts, and as the preconditioner of a loop
/// that the GPU runs by itself.
#include "core/cuda/context.hpp"
#include "core/enqueued_product.hpp"
#include "tests/solvers/amg_cycle_oracle.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string_view>

namespace tessera::testing {
namespace {

using cuda::AmgLayoutTuning;

/// Thresholds that force a layout on small matrices.
struct NamedTuning {
  std::string name;
  AmgLayoutTuning tuning;
};

std::vector<NamedTuning> tunings() {
  constexpr AmgLayoutTuning any{.least_sliced_rows = 1,
                                .most_sliced_mean = 1e9,
                                .most_padding = 1e9,
                                .longest_thread_row = 1 << 30,
                                .least_streamed_rows = 0,
                                .most_streamed_mean = 1e9};
  AmgLayoutTuning streamed = any;
  streamed.most_padding = 0.0;
  AmgLayoutTuning raked = any;
  raked.least_listed_rows = 1;
  raked.least_raked_rows = 1;
  return {{"default", {}}, {"sliced", any}, {"streamed", streamed}, {"raked", raked}};
}

template <class T>
std::vector<T> image(const Device& gpu, const detail::AmgCycleOperator<T>& cycle, const std::vector<T>& r) {
  const auto on_gpu = Array<T>::copy_of(r, gpu);
  auto z = Array<T>::copy_of(std::vector<T>(r.size(), std::numeric_limits<T>::quiet_NaN()), gpu);
  cycle.apply(on_gpu.span(), z.span());
  const Array<T> result = z.to(Device{});
  return {result.begin(), result.end()};
}

/// z, <w, z> and <z, z> by the enqueued product.
template <class T>
struct Enqueued {
  std::vector<T> z;
  ProductDots dots;

  Enqueued(const Device& gpu, const detail::AmgCycleOperator<T>& cycle, const std::vector<T>& r,
           const std::vector<T>& w, bool by_parts) {
    const auto r_gpu = Array<T>::copy_of(r, gpu);
    const auto w_gpu = Array<T>::copy_of(w, gpu);
    auto z_gpu = Array<T>::copy_of(std::vector<T>(r.size(), std::numeric_limits<T>::quiet_NaN()), gpu);
    Array<ProductDots> sums(1, Init::none, gpu);
    if (by_parts) {
      const auto parts =
          cycle.enqueued()->enqueue_parts(r_gpu.span(), z_gpu.span(), w_gpu.span(), sums.data(), nullptr);
      std::vector<ProductDots> values(parts.size());
      detail::copy_bytes(Device{}, values.data(), gpu, parts.data(), parts.size_bytes());
      for (const ProductDots& part : values) dots += part;
    } else {
      cycle.enqueued()->enqueue(r_gpu.span(), z_gpu.span(), w_gpu.span(), sums.data());
      dots = sums.to(Device{})[0];
    }
    const Array<T> result = z_gpu.to(Device{});
    z.assign(result.begin(), result.end());
  }
};

template <class T>
void expect_dots(const Enqueued<T>& found, const std::vector<T>& w) {
  long double wz = 0.0L;
  long double zz = 0.0L;
  long double magnitude = 0.0L;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const auto z = static_cast<long double>(found.z[i]);
    wz += static_cast<long double>(w[i]) * z;
    zz += z * z;
    magnitude += std::abs(static_cast<long double>(w[i]) * z);
  }
  const double unit = static_cast<double>(w.size()) * std::numeric_limits<double>::epsilon();
  EXPECT_NEAR(found.dots.wy, static_cast<double>(wz), unit * static_cast<double>(magnitude));
  EXPECT_NEAR(found.dots.yy, static_cast<double>(zz), unit * static_cast<double>(zz));
}

template <class T, class V>
void check(const Device& gpu, CycleCase task, const AmgLayoutTuning& tuning) {
  task.options.precision = sizeof(V) == sizeof(float) ? AmgPrecision::single : AmgPrecision::full;
  const detail::AmgHierarchy<T> hierarchy = make_hierarchy<T>(task);
  const auto cycle = cuda::make_amg_cycle(on_device(hierarchy, gpu), task.options, tuning);
  const auto n = static_cast<std::size_t>(task.a[0].rows());
  const std::vector<T> r = random_values<T>(n, 1);
  const std::vector<T> w = random_values<T>(n, 2);
  const std::vector<T> z = image(gpu, *cycle, r);
  expect_cycle<T, V>(CycleOracle<T, V>(task, hierarchy), r, z);
  for (const bool by_parts : {false, true}) {
    const Enqueued<T> found(gpu, *cycle, r, w, by_parts);
    EXPECT_EQ(found.z, z);
    expect_dots(found, w);
  }
}

class AmgCycleOnGpu : public CudaTest {};

TEST_F(AmgCycleOnGpu, EqualsTheTextbookFormula) {
  const std::vector<NamedTuning> layouts = tunings();
  // An emulated GPU takes each case in one layout and one pair of types.
  const bool few = gpu_is_emulated || sparing();
  std::size_t which = 0;
  for (const CycleCase& task : cycle_cases()) {
    const std::size_t chosen = which % 3;
    const std::size_t only = which++ % layouts.size();
    for (std::size_t l = 0; l < layouts.size(); ++l) {
      const NamedTuning& layout = layouts[l];
      if (few && l != only) continue;
      SCOPED_TRACE(describe(task) + ", " + layout.name);
      if (!few || chosen == 0) check<double, float>(gpu(), task, layout.tuning);
      if (!few || chosen == 1) check<double, double>(gpu(), task, layout.tuning);
      if (!few || chosen == 2) check<float, float>(gpu(), task, layout.tuning);
    }
  }
}

TEST_F(AmgCycleOnGpu, LayoutsAreThoseAskedFor) {
  CycleCase task = aggregated(20, 20, {4});
  const detail::AmgHierarchy<double> hierarchy = on_device(make_hierarchy<double>(task), gpu());
  EXPECT_EQ(cuda::make_amg_cycle(hierarchy, task.options, tunings()[0].tuning)->layouts()[0].name, "csr");
  EXPECT_EQ(cuda::make_amg_cycle(hierarchy, task.options, tunings()[1].tuning)->layouts()[0].name, "sliced-ell");
  EXPECT_EQ(cuda::make_amg_cycle(hierarchy, task.options)->layouts()[1].name, "dense");
  // One full row would pad its slice to 400 columns.
  const CycleCase hub = with_hub(400);
  const AmgLayoutTuning small{.least_sliced_rows = 1};
  EXPECT_EQ(cuda::make_amg_cycle(on_device(make_hierarchy<double>(hub), gpu()), hub.options, small)->layouts()[0].name,
            "csr");
}

TEST_F(AmgCycleOnGpu, EmptyMatrix) {
  CycleCase task("empty", EigenSparse<double>(0, 0));
  task.has_inverse = false;
  const auto cycle = cuda::make_amg_cycle(on_device(make_hierarchy<double>(task), gpu()), task.options);
  EXPECT_TRUE(image<double>(gpu(), *cycle, {}).empty());
  for (const bool by_parts : {false, true}) {
    const Enqueued<double> found(gpu(), *cycle, {}, {}, by_parts);
    EXPECT_EQ(found.dots.wy, 0.0);
    EXPECT_EQ(found.dots.yy, 0.0);
  }
}

/// Rows that a whole block sums, among others, in blocks of rows that end inside the matrix.
TEST_F(AmgCycleOnGpu, LongRows) {
  for (CycleCase task : {with_hub(600), with_hubs(700, {3, 4, 650, 699})}) {
    for (const AmgCycle kind : {AmgCycle::v, AmgCycle::k}) {
      task.options.cycle = kind;
      SCOPED_TRACE(describe(task));
      check<double, float>(gpu(), task, {});
      check<double, double>(gpu(), task, {.least_sliced_rows = 1});
    }
  }
}

/// Several tiles per block and several blocks, rows that fill none of them, and repeated runs.
TEST_F(AmgCycleOnGpu, RepeatsItselfBitByBit) {
  CycleCase task = aggregated(73, 67, {6, 40});
  for (const AmgCycle kind : {AmgCycle::v, AmgCycle::k}) {
    for (const NamedTuning& layout : tunings()) {
      task.options.cycle = kind;
      SCOPED_TRACE(layout.name);
      const auto hierarchy = on_device(make_hierarchy<double>(task), gpu());
      const std::vector<double> r = random_values<double>(4891, 3);
      const Enqueued<double> first(gpu(), *cuda::make_amg_cycle(hierarchy, task.options, layout.tuning), r, r, true);
      const auto cycle = cuda::make_amg_cycle(hierarchy, task.options, layout.tuning);
      for (int repetition = 0; repetition < repetitions(5, 2); ++repetition) {
        const Enqueued<double> again(gpu(), *cycle, r, r, true);
        EXPECT_EQ(again.z, first.z);
        EXPECT_EQ(again.dots.wy, first.dots.wy);
        EXPECT_EQ(again.dots.yy, first.dots.yy);
      }
      expect_dots(first, r);
    }
  }
}

TEST_F(AmgCycleOnGpu, RefreshTakesNewValuesIntoTheMemoryThatIsThere) {
  CycleCase task = aggregated(9, 7, {4, 3});
  CycleCase other("scaled", EigenSparse<double>(2.5 * task.a[0]));
  other.a[0].coeffRef(3, 3) += 1.0;
  for (const EigenSparse<double>& p : task.p) other.coarsen(p);
  task.options.smoother = other.options.smoother = AmgSmoother::chebyshev;
  const std::vector<double> r = random_values<double>(63, 5);
  for (NamedTuning layout : tunings()) {
    SCOPED_TRACE(layout.name);
    layout.tuning.least_listed_rows = 1000;  // values that rows shared would take memory of their own
    const auto cycle =
        cuda::make_amg_cycle(on_device(make_hierarchy<double>(task), gpu()), task.options, layout.tuning);
    const detail::AmgHierarchy<double> hierarchy = make_hierarchy<double>(other);
    const detail::AmgHierarchy<double> source = on_device(hierarchy, gpu());
    const std::uint64_t before = cuda::Context::of(gpu()).counts().allocations;
    cycle->refresh(source);
    EXPECT_EQ(cuda::Context::of(gpu()).counts().allocations, before);
    expect_cycle<double, float>(CycleOracle<double, float>(other, hierarchy), r, image(gpu(), *cycle, r));
  }
}

TEST_F(AmgCycleOnGpu, NeitherAllocatesNorWaits) {
  CycleCase task = aggregated(12, 11, {3, 3});
  task.options.cycle = AmgCycle::k;
  const auto cycle = cuda::make_amg_cycle(on_device(make_hierarchy<double>(task), gpu()), task.options);
  const auto r = Array<double>::copy_of(random_values<double>(132, 5), gpu());
  Array<double> z(132, Init::none, gpu());
  Array<ProductDots> sums(1, Init::none, gpu());
  const ContextCounts before = cuda::Context::of(gpu()).counts();
  cycle->apply(r.span(), z.span());
  cycle->enqueued()->enqueue(r.span(), z.span(), r.span(), sums.data());
  const ContextCounts after = cuda::Context::of(gpu()).counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.waits, before.waits);
}

TEST_F(AmgCycleOnGpu, DoesNothingOnceTheLoopHasHalted) {
  CycleCase task = aggregated(12, 11, {3, 3});
  const std::vector<double> r = random_values<double>(132, 5);
  const std::vector<double> before(132, 7.0);
  for (const AmgCycle kind : {AmgCycle::v, AmgCycle::k}) {
    task.options.cycle = kind;
    const auto cycle = cuda::make_amg_cycle(on_device(make_hierarchy<double>(task), gpu()), task.options);
    const auto r_gpu = Array<double>::copy_of(r, gpu());
    Array<ProductDots> sums(1, Init::none, gpu());
    for (const std::int32_t flag : {1, 0}) {
      const auto halted = Array<std::int32_t>::copy_of(std::vector<std::int32_t>{flag}, gpu());
      auto z = Array<double>::copy_of(before, gpu());
      static_cast<void>(
          cycle->enqueued()->enqueue_parts(r_gpu.span(), z.span(), r_gpu.span(), sums.data(), halted.data()));
      const Array<double> found = z.to(Device{});
      const std::vector<double> expected = flag != 0 ? before : image(gpu(), *cycle, r);
      EXPECT_EQ(std::vector<double>(found.begin(), found.end()), expected) << flag;
    }
  }
}

/// The cycle as a preconditioner that a GPU runs by itself, or that the host calls.
template <class T>
class CyclePreconditioner final : public FusedOperator<T> {
 public:
  CyclePreconditioner(const detail::AmgCycleOperator<T>& cycle, std::int64_t n, const Device& device, bool is_enqueued)
      : cycle_(cycle), n_(n), device_(device), is_enqueued_(is_enqueued) {}
  [[nodiscard]] std::int64_t rows() const override { return n_; }
  [[nodiscard]] std::int64_t cols() const override { return n_; }
  [[nodiscard]] Device device() const override { return device_; }

 protected:
  /// Solvers ask for z = M r alone.
  void do_apply(T /*alpha*/, std::span<const T> x, T /*beta*/, std::span<T> y) const override { cycle_.apply(x, y); }

 private:
  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued_product() const noexcept override {
    return is_enqueued_ ? cycle_.enqueued() : nullptr;
  }
  const detail::AmgCycleOperator<T>& cycle_;
  std::int64_t n_;
  Device device_;
  bool is_enqueued_;
};

TEST_F(AmgCycleOnGpu, PreconditionsALoopOnTheGpu) {
  CycleCase task = aggregated(23, 19, {4, 3});
  const auto matrix = to_csr<double>(task.a[0]);
  SpmvOptions spmv;
  spmv.device = gpu();
  const SpmvPlan<double> plan(matrix, spmv);
  const std::vector<double> b = product(matrix->view(), std::vector<double>(437, 1.0));
  const auto b_gpu = Array<double>::copy_of(b, gpu());
  SolverOptions solver;
  solver.relative_tolerance = 1e-10;
  for (const AmgCycle kind : {AmgCycle::v, AmgCycle::w, AmgCycle::k}) {
    task.options.cycle = kind;
    const auto cycle = cuda::make_amg_cycle(on_device(make_hierarchy<double>(task), gpu()), task.options);
    std::vector<std::int64_t> iterations;
    for (const bool is_enqueued : {true, false}) {
      const CyclePreconditioner<double> m(*cycle, 437, gpu(), is_enqueued);
      Array<double> x(437, Init::zero, gpu());
      const SolveReport report = cg<double>(plan, m, b_gpu.span(), x.span(), solver);
      const Array<double> found = x.to(Device{});
      EXPECT_TRUE(report.converged()) << report.reason;
      expect_honest(report, matrix->view(), b, std::vector<double>(found.begin(), found.end()));
      iterations.push_back(report.iterations);
    }
    EXPECT_LE(std::abs(iterations[0] - iterations[1]), 1);
    EXPECT_LE(iterations[0], 20) << "cycles, not sweeps";
  }
}

/// Kernels that overlap compute what kernels one after the other do.
TEST_F(AmgCycleOnGpu, OverlapChangesNoBit) {
  CycleCase task = aggregated(73, 67, {6, 40});
  const auto hierarchy = on_device(make_hierarchy<double>(task), gpu());
  const std::vector<double> r = random_values<double>(4891, 7);
  const auto overlapping = cuda::make_amg_cycle(hierarchy, task.options);
  ::setenv("TESSERA_PDL", "0", 1);
  const auto serial = cuda::make_amg_cycle(hierarchy, task.options);
  ::unsetenv("TESSERA_PDL");
  const std::vector<double> expected = image(gpu(), *serial, r);
  for (int repetition = 0; repetition < repetitions(200, 1); ++repetition) {
    ASSERT_EQ(image(gpu(), *overlapping, r), expected);
  }
}

}  // namespace
}  // namespace tessera::testing
