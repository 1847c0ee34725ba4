/// Memory of a GPU that gives out: each allocation of an operation is refused in turn. The operation throws, or does
/// without; it keeps no memory, and works when it is asked again.
#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "spmv/merbit/merbit.hpp"
#include "spmv/merbit/merbit_arrays.hpp"
#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/context.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/ordering.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/spgemm.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/cuda_kernels.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/hub_graphs.hpp"
#include "tests/support/hub_rules.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// The pool, but for one allocation, which is asked for twice: the library returns unused memory before the second.
class RefusingMemory final : public MemoryResource {
 public:
  void* allocate(std::uint64_t bytes, CUstream_st* stream) override {
    const std::int64_t number = requests++;
    if (number == refused || number == refused + 1) return nullptr;
    live_bytes += static_cast<std::int64_t>(bytes);
    void* data = nullptr;
    cuda::check(cudaMallocFromPoolAsync(&data, bytes, cuda::Context::of(Device::cuda(0)).pool(), stream), "allocating");
    return data;
  }
  void deallocate(void* data, std::uint64_t bytes, CUstream_st* stream) noexcept override {
    live_bytes -= static_cast<std::int64_t>(bytes);
    static_cast<void>(cudaFreeAsync(data, stream));
  }

  std::atomic<std::int64_t> requests = 0;
  std::atomic<std::int64_t> refused = -2;
  std::atomic<std::int64_t> live_bytes = 0;
};

class OutOfGpuMemory : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    memory_ = std::make_shared<RefusingMemory>();
    context_ = std::make_unique<Context>(gpu(), ContextOptions{.memory = memory_});
    spd_ = poisson2d<double>(23, 20).to(device());
    general_ = convection_diffusion<double>(20, 23, 1, {.x = 0.1}).to(device());
    b_ = Array<double>::copy_of(random_values<double>(460, 1), device());
    x_ = Array<double>(460, Init::zero, device());
  }
  [[nodiscard]] Device device() const { return *context_; }
  [[nodiscard]] SpmvOptions options(SpmvAlgorithm kernel = SpmvAlgorithm::automatic) const {
    SpmvOptions result;
    result.algorithm = kernel;
    result.device = device();
    return result;
  }

  /// Of many allocations some are refused, few where the GPU is emulated.
  void refuse_each_allocation_of(const std::function<void()>& run) {
    run();  // handles, sizes that later runs know
    const std::int64_t before = memory_->requests;
    run();
    const std::int64_t count = memory_->requests - before;
    ASSERT_GT(count, 0);
    const std::int64_t live = memory_->live_bytes;
    const std::int64_t step = std::max<std::int64_t>(1, count / repetitions(200, 12));
    for (std::int64_t k = 0; k < count; k += step) {
      memory_->refused = memory_->requests + k;
      try {
        run();
      } catch (const OutOfMemory&) {
      }
      memory_->refused = -2;
      ASSERT_EQ(memory_->live_bytes, live) << "allocation " << k << " of " << count;
    }
    run();
  }

  std::shared_ptr<RefusingMemory> memory_;
  std::unique_ptr<Context> context_;
  Csr<double> spd_;
  Csr<double> general_;
  Array<double> b_;
  Array<double> x_;
};

TEST_F(OutOfGpuMemory, PlansOfAllKernels) {
  std::string why;
  const bool has_vendor = has_vendor_kernels(gpu(), why);
  for (const SpmvAlgorithm kernel : spmv_algorithms(Device::Kind::cuda)) {
    if (kernel == SpmvAlgorithm::streamed) continue;  // of matrices on the host
    if (is_vendor(kernel) && !has_vendor) continue;
    SCOPED_TRACE(std::string(to_string(kernel)));
    refuse_each_allocation_of([&] {
      const SpmvPlan<double> plan(spd_.to(device()), options(kernel));
      plan.apply(b_.span(), x_.span());
    });
    if (HasFatalFailure()) return;
  }
}

/// Hub columns, which only save time.
TEST_F(OutOfGpuMemory, ProductsWithoutHubColumns) {
  const Csr<double> a = graph(460, 460, 30, 5).to(device());
  cuda::MerbitTuning tuning;
  tuning.layout = cuda::MerbitLayout::columns;
  tuning.hubs = staged_hubs(20);
  int with_hubs = 0;
  int without = 0;
  std::vector<double> expected;
  refuse_each_allocation_of([&] {
    const auto kernel = cuda::make_merbit_kernel<double>(a.view(), options(SpmvAlgorithm::merbit), tuning);
    ++(kernel->tiles().hubs.count > 0 ? with_hubs : without);
    kernel->apply(a.view(), 1.0, b_.span(), 0.0, x_.span());
    const Array<double> y = x_.to(Device{});
    if (expected.empty()) expected.assign(y.begin(), y.end());
    EXPECT_TRUE(std::equal(y.begin(), y.end(), expected.begin()));
  });
  EXPECT_GE(with_hubs, 3);
  EXPECT_GE(without, 1);
}

TEST_F(OutOfGpuMemory, NewValuesThatTemplatesDoNotHold) {
  const auto values = Array<double>::copy_of(random_values<double>(static_cast<std::size_t>(spd_.nnz()), 3), device());
  refuse_each_allocation_of([&] {
    SpmvPlan<double> plan(spd_.to(device()), options(SpmvAlgorithm::patterns));
    plan.update_values(values.span());
    plan.apply(b_.span(), x_.span());
  });
}

TEST_F(OutOfGpuMemory, KrylovMethods) {
  const SpmvPlan<double> plan(spd_.to(device()), options());
  const JacobiPreconditioner<double> jacobi(spd_.view(), device());
  const SolverOptions few{.max_iterations = 2, .restart = 8};
  const std::vector<std::function<SolveReport()>> methods{
      [&] { return cg<double>(plan, jacobi, b_.span(), x_.span(), few); },
      [&] { return bicgstab<double>(plan, jacobi, b_.span(), x_.span(), few); },
      [&] { return gmres<double>(plan, jacobi, b_.span(), x_.span(), few); },
  };
  for (std::size_t k = 0; k < methods.size(); ++k) {
    SCOPED_TRACE("method " + std::to_string(k));
    refuse_each_allocation_of([&] {
      x_ = Array<double>(460, Init::zero, device());
      EXPECT_EQ(methods[k]().iterations, 2);
    });
    if (HasFatalFailure()) return;
  }
}

TEST_F(OutOfGpuMemory, Multigrid) {
  refuse_each_allocation_of([&] {
    Amg<double> amg(spd_.view(), {.coarsest_rows = 20, .prepare_refresh = true}, device());
    amg.apply(b_.span(), x_.span());
    amg.refresh(spd_.view());
  });
}

TEST_F(OutOfGpuMemory, Preconditioners) {
  refuse_each_allocation_of([&] {
    const IncompleteFactors<double> factors(spd_.view(), {.kind = FactorKind::ilu0}, device());
    factors.apply(b_.span(), x_.span());
  });
  refuse_each_allocation_of([&] { FsaiPreconditioner<double>(spd_.view(), {}, device()).apply(b_.span(), x_.span()); });
  refuse_each_allocation_of(
      [&] { SpaiPreconditioner<double>(general_.view(), {}, device()).apply(b_.span(), x_.span()); });
  refuse_each_allocation_of(
      [&] { PolynomialPreconditioner<double>(spd_.view(), {}, device()).apply(b_.span(), x_.span()); });
}

TEST_F(OutOfGpuMemory, RanksAndOrderings) {
  const auto graph = generate<double>(parse_generator("kmer:500")).to(device());
  refuse_each_allocation_of([&] {
    const TransitionMatrix<double> transition(graph.view(), device());
    EXPECT_TRUE(pagerank(transition).converged());
  });
  refuse_each_allocation_of([&] {
    const auto order = ordering(general_.view(), Ordering::degree, device());
    EXPECT_EQ(order.size(), 460);
  });
}

TEST_F(OutOfGpuMemory, SparseProducts) {
  for (const SpgemmWorkflow workflow : {SpgemmWorkflow::automatic, SpgemmWorkflow::hll, SpgemmWorkflow::symbolic,
                                        SpgemmWorkflow::esc, SpgemmWorkflow::tiles}) {
    SCOPED_TRACE(std::string(to_string(workflow)));
    SpgemmOptions of_workflow;
    of_workflow.workflow = workflow;
    of_workflow.device = device();
    refuse_each_allocation_of([&] {
      const auto result = spgemm(spd_, general_, of_workflow);
      EXPECT_GT(result.matrix.nnz(), 0);
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::testing
