// The emulator finds faults: kernels with one fault each.
#include "core/cuda/async_copy.cuh"
#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/capture.hpp"
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tests/support/cuda_test.hpp"

#include <cub/device/device_scan.cuh>

#include <cmath>
#include <string>
#include <vector>

namespace tessera::cuda {
namespace {

constexpr int threads = 128;

class Emulator : public testing::CudaTest {
 protected:
  /// The error of a launch or of its kernel; empty if it runs.
  template <class... Parameters, class... Arguments>
  static std::string failure(const Grid& grid, void (*kernel)(Parameters...), Arguments... arguments) {
    try {
      launch("kernel", Context::of(gpu()), grid, kernel, arguments...);
      return "";
    } catch (const CudaError& error) {
      return error.what();
    }
  }
  template <class... Parameters, class... Arguments>
  static void expect_failure(const std::string& part, const Grid& grid, void (*kernel)(Parameters...),
                             Arguments... arguments) {
    const std::string found = failure(grid, kernel, arguments...);
    EXPECT_NE(found.find(part), std::string::npos) << found;
    // The device stays usable.
    EXPECT_EQ(Array<int>(3, Init::zero, gpu()).to(Device{})[2], 0);
  }
  static std::vector<float> download(const Array<float>& array) {
    const Array<float> copy = array.to(Device{});
    return {copy.begin(), copy.end()};
  }
};

__global__ void nothing_kernel() {}

TEST_F(Emulator, RefusesGridsThatAGpuRefuses) {
  EXPECT_EQ(failure(Grid{1, threads}, nothing_kernel), "");
  expect_failure("cudaErrorInvalidConfiguration", Grid{0, threads}, nothing_kernel);
  expect_failure("cudaErrorInvalidConfiguration", Grid{1, 1056}, nothing_kernel);
  expect_failure("cudaErrorInvalidValue", Grid{1, threads, 49153}, nothing_kernel);
  check(cudaFuncSetAttribute(nothing_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000), "asking for more");
  EXPECT_EQ(failure(Grid{1, threads, 50000}, nothing_kernel), "");
  EXPECT_EQ(cudaFuncSetAttribute(nothing_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(nothing_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 101),
            cudaErrorInvalidValue);
}

/// Every thread writes the value that its right neighbour has put into shared memory.
__global__ void neighbour_kernel(bool with_barrier, float* to) {
  __shared__ float values[threads];
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (with_barrier) __syncthreads();
  to[blockIdx.x * threads + threadIdx.x] = values[(threadIdx.x + 1) % threads];
}

TEST_F(Emulator, FindsAMissingBarrierOfABlock) {
  Array<float> to(threads, Init::none, gpu());
  std::vector<float> expected(threads);
  for (int t = 0; t < threads; ++t) expected[static_cast<std::size_t>(t)] = static_cast<float>((t + 1) % threads);
  EXPECT_EQ(failure(Grid{1, threads}, neighbour_kernel, true, to.data()), "");
  EXPECT_EQ(download(to), expected);
  EXPECT_EQ(failure(Grid{1, threads}, neighbour_kernel, false, to.data()), "");
  EXPECT_NE(download(to), expected);
}

__global__ void warp_neighbour_kernel(bool with_barrier, float* to) {
  auto* const values = reinterpret_cast<float*>(dynamic_shared_memory());
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (with_barrier) __syncwarp();
  to[threadIdx.x] = values[threadIdx.x ^ 1U];
}

TEST_F(Emulator, FindsAMissingBarrierOfAWarp) {
  Array<float> to(threads, Init::none, gpu());
  std::vector<float> expected(threads);
  for (unsigned t = 0; t < threads; ++t) expected[t] = static_cast<float>(t ^ 1U);
  const Grid grid{1, threads, threads * sizeof(float)};
  EXPECT_EQ(failure(grid, warp_neighbour_kernel, true, to.data()), "");
  EXPECT_EQ(download(to), expected);
  EXPECT_EQ(failure(grid, warp_neighbour_kernel, false, to.data()), "");
  EXPECT_NE(download(to), expected);
}

/// Reads values left by another block.
__global__ void unwritten_kernel(float* to) {
  __shared__ float of_block;
  if (threadIdx.x == 0) to[blockIdx.x] = of_block + static_cast<float>(dynamic_shared_memory()[0]);
  __syncthreads();
  if (threadIdx.x == 0) of_block = 1.0F;
  if (threadIdx.x == 0) dynamic_shared_memory()[0] = 1;
}

TEST_F(Emulator, PoisonsWhatNobodyWrote) {
  Array<float> to(3, Init::none, gpu());
  for (const float value : download(to)) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(failure(Grid{2, threads, 1}, unwritten_kernel, to.data()), "");
  for (const float value : download(to)) EXPECT_TRUE(std::isnan(value));
}

__global__ void half_a_warp_kernel() {
  if (threadIdx.x % 32 < 16) return;
  __syncwarp();
}
__global__ void divided_kernel() {
  if (threadIdx.x % 32 < 16) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
__global__ void different_intrinsics_kernel(int* to) {
  *to = threadIdx.x % 2 == 0 ? __any_sync(full_warp, 1) : __shfl_sync(full_warp, 1, 0);
}
__global__ void some_lanes_kernel() { __syncwarp(0xffffU); }

TEST_F(Emulator, FindsLanesThatDoNotMeet) {
  Array<int> to(1, Init::none, gpu());
  expect_failure("others of it have returned", Grid{3, threads}, half_a_warp_kernel);
  expect_failure("some for the warp and some for the block", Grid{1, threads}, divided_kernel);
  expect_failure("different intrinsics", Grid{1, threads}, different_intrinsics_kernel, to.data());
  expect_failure("for some of its lanes", Grid{1, threads}, some_lanes_kernel);
}

__global__ void misaligned_kernel(const int* from, int* to) { *to = __ldcs(reinterpret_cast<const int4*>(from + 1)).x; }

TEST_F(Emulator, FindsMisalignedLoads) {
  Array<int> data(8, Init::zero, gpu());
  expect_failure("misaligned", Grid{1, 1}, misaligned_kernel, data.data(), data.data());
}

enum class Copying { right, unannounced, unfinished, of_odd_size, without_barrier, read_early };

__global__ void copy_kernel(Copying way, const float* from, float* to) {
  __shared__ CopyBarrier barrier;
  auto* const values = reinterpret_cast<float*>(dynamic_shared_memory());
  if (threadIdx.x == 0) {
    if (way != Copying::without_barrier) init_barrier(&barrier);
    make_barriers_visible();
    if (way != Copying::unannounced) expect_bytes(&barrier, 32 * sizeof(float));
    bulk_copy(values, from, (way == Copying::of_odd_size ? 31 : 32) * sizeof(float), &barrier);
  }
  __syncwarp();
  if (way == Copying::unfinished) return;
  if (way != Copying::read_early) wait_for_copies(&barrier, 0);
  const float value = values[threadIdx.x];
  wait_for_copies(&barrier, 0);
  to[threadIdx.x] = value;
}

TEST_F(Emulator, FindsMisuseOfBulkCopies) {
  const std::vector<float> source(32, 3.0F);
  const auto from = Array<float>::copy_of(source, gpu());
  Array<float> to(32, Init::none, gpu());
  const auto run = [&](Copying way) {
    return failure(Grid{1, 32, 128}, copy_kernel, way, static_cast<const float*>(from.data()), to.data());
  };
  EXPECT_EQ(run(Copying::right), "");
  EXPECT_EQ(download(to), source);
  EXPECT_NE(run(Copying::unannounced).find("before its bytes were announced"), std::string::npos);
  EXPECT_NE(run(Copying::unfinished).find("ends before its bulk copies"), std::string::npos);
  EXPECT_NE(run(Copying::of_odd_size).find("no positive multiple of 16"), std::string::npos);
  EXPECT_NE(run(Copying::without_barrier).find("nobody has made"), std::string::npos);
  EXPECT_EQ(run(Copying::read_early), "");
  for (const float value : download(to)) EXPECT_TRUE(std::isnan(value));
}

enum class OwnCopy { right, without_wait, misaligned, read_early };

__global__ void own_copy_kernel(OwnCopy way, const float4* from, float* to) {
  auto* const quads = reinterpret_cast<float4*>(dynamic_shared_memory());
  const float* const values = reinterpret_cast<const float*>(quads);
  if (way == OwnCopy::misaligned) from = reinterpret_cast<const float4*>(reinterpret_cast<const float*>(from) + 1);
  if (threadIdx.x < 8) begin_async_copy(from + threadIdx.x, quads + threadIdx.x);
  if (way == OwnCopy::without_wait) return;
  if (way != OwnCopy::read_early) wait_for_async_copies();
  __syncwarp();
  to[threadIdx.x] = values[threadIdx.x];
  __syncwarp();
  wait_for_async_copies();
}

TEST_F(Emulator, FindsMisuseOfAsynchronousCopies) {
  const std::vector<float> source(36, 3.0F);
  const auto from = Array<float>::copy_of(source, gpu());
  Array<float> to(32, Init::none, gpu());
  const auto run = [&](OwnCopy way) {
    return failure(Grid{1, 32, 128}, own_copy_kernel, way, reinterpret_cast<const float4*>(from.data()), to.data());
  };
  EXPECT_EQ(run(OwnCopy::right), "");
  EXPECT_EQ(download(to), std::vector<float>(32, 3.0F));
  EXPECT_NE(run(OwnCopy::without_wait).find("ends before its bulk copies"), std::string::npos);
  EXPECT_NE(run(OwnCopy::misaligned).find("not aligned to 16 bytes"), std::string::npos);
  EXPECT_EQ(run(OwnCopy::read_early), "");
  for (const float value : download(to)) EXPECT_TRUE(std::isnan(value));
}

/// Primitives of libraries are work of the stream like any kernel.
TEST_F(Emulator, RecordsCallsOfLibraries) {
  auto counts = Array<int>::copy_of(std::vector<int>{1, 2, 3}, gpu());
  std::size_t bytes = 0;
  const auto scan = [&](void* storage) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, counts.data(), counts.data(), 3, Context::of(gpu()).stream());
  };
  ASSERT_EQ(scan(nullptr), cudaSuccess);
  Array<std::byte> storage(static_cast<std::int64_t>(bytes), Init::none, gpu());
  LoopGraph graph(gpu());
  graph.record_before([&] { check(scan(storage.data()), "scan"); });
  graph.complete();
  EXPECT_EQ(counts.to(Device{})[1], 2);
  graph.launch();
  EXPECT_EQ(counts.to(Device{})[1], 1);
  --bytes;
  EXPECT_EQ(scan(storage.data()), cudaErrorInvalidValue);
}

#ifdef __SANITIZE_ADDRESS__
__global__ void beyond_kernel(int* to) { to[threadIdx.x] = 1; }
__global__ void beyond_shared_kernel() { dynamic_shared_memory()[threadIdx.x] = 1; }

using EmulatorDeathTest = Emulator;

TEST_F(EmulatorDeathTest, FindsAccessBeyondAnArray) {
  Array<int> to(threads - 1, Init::none, gpu());
  EXPECT_DEATH(failure(Grid{1, threads}, beyond_kernel, to.data()), "heap-buffer-overflow");
  EXPECT_DEATH(failure(Grid{1, threads, threads - 1}, beyond_shared_kernel), "heap-buffer-overflow");
}

TEST_F(EmulatorDeathTest, FindsAHostThatReadsMemoryOfTheDevice) {
  const Array<int> on_gpu(1, Init::zero, gpu());
  EXPECT_DEATH(static_cast<void>(*static_cast<const volatile int*>(on_gpu.data())), "use-after-poison");
}
#endif

}  // namespace
}  // namespace tessera::cuda
