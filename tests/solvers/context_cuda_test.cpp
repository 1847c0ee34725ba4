// Contexts on a GPU: streams and memory of the caller, and several side by side.
#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "tessera/amg.hpp"
#include "tessera/context.hpp"
#include "tessera/generators.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spgemm.hpp"
#include "tests/support/cuda_test.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace tessera {
namespace {

class CudaContext : public testing::CudaTest {
 protected:
  [[nodiscard]] static std::vector<double> download(const Array<double>& array) {
    const Array<double> copy = array.to(Device{});
    return {copy.begin(), copy.end()};
  }

  /// CG with AMG on a Poisson problem; the solution.
  [[nodiscard]] static std::vector<double> solution(const Device& device) {
    const SpmvPlan<double> a(poisson2d<double>(20, 20), SpmvOptions{.device = device});
    const Amg<double> m(a.matrix(), {}, device);
    const auto b = Array<double>::copy_of(std::vector<double>(400, 1.0), device);
    Array<double> x(400, Init::zero, device);
    const SolveReport report = cg<double>(a, m, b.span(), x.span());
    EXPECT_TRUE(report.converged()) << report.reason;
    return download(x);
  }
};

/// Memory of the pool of the library's own context, counted.
class CountedMemory final : public MemoryResource {
 public:
  void* allocate(std::uint64_t bytes, CUstream_st* stream) override {
    if (bytes > limit) return nullptr;
    if (throws) throw std::runtime_error("no more of my memory");
    ++allocations;
    live_bytes += static_cast<std::int64_t>(bytes);
    wrong_stream += stream == expected ? 0 : 1;
    void* data = nullptr;
    cuda::check(cudaMallocFromPoolAsync(&data, bytes, cuda::Context::of(Device::cuda(0)).pool(), stream), "allocating");
    return data;
  }
  void deallocate(void* data, std::uint64_t bytes, CUstream_st* stream) noexcept override {
    live_bytes -= static_cast<std::int64_t>(bytes);
    static_cast<void>(cudaFreeAsync(data, stream));
  }

  CUstream_st* expected = nullptr;
  std::uint64_t limit = std::uint64_t{1} << 30;
  bool throws = false;
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<std::int64_t> live_bytes = 0;
  std::atomic<int> wrong_stream = 0;
};

TEST_F(CudaContext, HasAStreamOfItsOwn) {
  const Context one(gpu());
  const Context other(gpu());
  EXPECT_NE(one.stream(), other.stream());
  EXPECT_NE(one.stream(), cuda::Context::of(gpu()).stream());
  EXPECT_EQ(one.device(), other.device());
  EXPECT_EQ(one.device().name(), "cuda:0");
  EXPECT_FALSE(one.device().shares_context_with(other.device()));
  EXPECT_FALSE(one.device().shares_context_with(gpu()));
  EXPECT_TRUE(one.device().shares_context_with(Context(one).device()));
}

TEST_F(CudaContext, GivesTheBitsOfTheLibrarysOwn) {
  const Context context(gpu());
  EXPECT_EQ(solution(context), solution(gpu()));
  EXPECT_GT(context.counts().allocations, 0U);
  EXPECT_GT(context.counts().waits, 0U);
}

TEST_F(CudaContext, UsesTheStreamOfTheCallerAndNoOther) {
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  {
    const Context context(gpu(), {.stream = stream});
    EXPECT_EQ(context.stream(), stream);
    const ContextCounts own = cuda::Context::of(gpu()).counts();
    static_cast<void>(solution(context));
    EXPECT_EQ(cuda::Context::of(gpu()).counts().waits, own.waits);
    EXPECT_EQ(cuda::Context::of(gpu()).counts().allocations, own.allocations);
    EXPECT_EQ(cuda::Context::of(gpu()).counts().recordings, own.recordings);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess) << "the context must not destroy it";
}

TEST_F(CudaContext, LivesAsLongAsWhatItMade) {
  Array<double> kept;
  {
    const Context context(gpu());
    kept = Array<double>(1000, Init::zero, context);
  }
  EXPECT_EQ(download(kept), std::vector<double>(1000));
  kept = {};
}

TEST_F(CudaContext, TakesAllItsMemoryFromTheCaller) {
  const auto memory = std::make_shared<CountedMemory>();
  {
    const Context context(gpu(), {.memory = memory});
    memory->expected = context.stream();
    static_cast<void>(solution(context));
    const Csr<double> factor = poisson2d<double>(9, 9);
    const SpgemmResult<double> product = spgemm(factor, factor, SpgemmOptions{.device = context});
    EXPECT_GT(memory->live_bytes.load(), 0);
    EXPECT_EQ(memory->allocations.load(), context.counts().allocations);
    EXPECT_EQ(memory->wrong_stream.load(), 0);
  }
  EXPECT_GT(memory->allocations.load(), 0U);
  EXPECT_EQ(memory->live_bytes.load(), 0);
}

TEST_F(CudaContext, PassesOnThatThereIsNoMemory) {
  const auto memory = std::make_shared<CountedMemory>();
  const Context context(gpu(), {.memory = memory});
  memory->limit = 1000;
  EXPECT_THROW(Array<double>(1000, Init::zero, context), OutOfMemory);
  memory->limit = 10000;
  memory->throws = true;
  EXPECT_THROW(Array<double>(1000, Init::zero, context), std::runtime_error);
  memory->throws = false;
  EXPECT_EQ(download(Array<double>(1000, Init::zero, context)), std::vector<double>(1000));
}

TEST_F(CudaContext, CopiesAreOrderedBetweenContexts) {
  const Context one(gpu());
  const Context other(gpu());
  std::vector<double> numbers(1 << 18);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  for (int k = 0; k < 20; ++k) {
    auto a = Array<double>::copy_of(numbers, one);
    const Array<double> copy = a.to(other.device());
    detail::zero_bytes(one, a.data(), a.bytes());
    a = {};
    Array<double> next(1 << 18, Init::zero, one);
    EXPECT_EQ(download(copy), numbers);
    if (testing::gpu_is_emulated) break;
  }
}

TEST_F(CudaContext, AMatrixServesPlansOfOthers) {
  const Context one(gpu());
  const Context other(gpu());
  auto matrix = std::make_shared<const Csr<double>>(poisson2d<double>(30, 30).to(one));
  auto plan = std::make_unique<SpmvPlan<double>>(matrix, SpmvOptions{.device = other});
  EXPECT_EQ(plan->matrix().values.data(), matrix->view().values.data());
  matrix.reset();
  const auto x = Array<double>::copy_of(std::vector<double>(900, 1.0), other);
  Array<double> y(900, Init::none, other);
  plan->apply(x.span(), y.span());
  plan.reset();
  Array<double> elsewhere(8000, Init::zero, one);
  EXPECT_EQ(download(y)[0], 2.0);
  EXPECT_EQ(download(y)[465], 0.0);
}

TEST_F(CudaContext, APreconditionerOfAnotherIsRefused) {
  const Context other(gpu());
  const SpmvPlan<double> a(poisson2d<double>(4, 4), SpmvOptions{.device = gpu()});
  const IdentityOperator<double> m(16, other);
  Array<double> b(16, Init::zero, gpu());
  Array<double> x(16, Init::zero, gpu());
  EXPECT_THROW(static_cast<void>(cg<double>(a, m, b.span(), x.span())), InvalidArgument);
}

TEST_F(CudaContext, TwoThreadsSolveSideBySide) {
  const std::vector<double> expected = solution(gpu());
  std::vector<std::vector<double>> found(2);
  std::vector<std::thread> threads;
  for (std::vector<double>& mine : found) {
    threads.emplace_back([&mine] {
      const Context context(gpu());
      for (int k = 0; k < testing::repetitions(20, 1); ++k) mine = solution(context);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found[0], expected);
  EXPECT_EQ(found[1], expected);
}

TEST_F(CudaContext, TwoGpusWorkSideBySide) {
  if (survey_cuda().devices.size() < 2) GTEST_SKIP() << "needs two GPUs";
  const std::vector<double> alone = solution(gpu());
  std::vector<double> found[2];
  std::thread threads[2];
  for (int k = 0; k < 2; ++k) {
    threads[k] = std::thread([&found, k] {
      for (int solve = 0; solve < 5; ++solve) found[k] = solution(Context(Device::cuda(k)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found[0], alone);
  EXPECT_EQ(found[1], alone);
  // CUDA's default streams, one of each GPU.
  const Context one(Device::cuda(0), {.stream = nullptr});
  const Context other(Device::cuda(1), {.stream = nullptr});
  EXPECT_FALSE(one.device().shares_context_with(other));
  const auto there = Array<double>::copy_of(alone, one).to(other);
  EXPECT_EQ(download(there.to(one)), alone);
  EXPECT_EQ(solution(other), alone);
}

TEST_F(CudaContext, OneWaitsForAnother) {
  const Context one(gpu());
  const Context other(gpu());
  EXPECT_THROW(one.wait_for(Context()), InvalidArgument);
  EXPECT_THROW(Context().wait_for(one), InvalidArgument);
  const ContextCounts before = other.counts();
  const auto a = Array<double>::copy_of(std::vector<double>(100000, 3.0), one);
  other.wait_for(one);
  EXPECT_EQ(other.counts().waits, before.waits) << "the host need not wait";
}

}  // namespace
}  // namespace tessera
