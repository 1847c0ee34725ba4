// The parts of bench_end_to_end that call the CUDA runtime: memory of the library's pool, a recorded step.
#include "bench/end_to_end_device.hpp"
#include "core/cuda/context.hpp"
#include "tessera/error.hpp"

#include <cuda_runtime.h>

#include <memory>
#include <utility>

namespace tessera::bench {

namespace {

void check(cudaError_t code) {
  if (code != cudaSuccess) throw Error(cudaGetErrorString(code));
}

[[nodiscard]] std::uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr name) {
  std::uint64_t value = 0;
  check(cudaMemPoolGetAttribute(pool, name, &value));
  return value;
}

}  // namespace

DeviceMemory device_memory(const Device& device, bool reset_peak) {
  synchronize(device);
  const cuda::DeviceGuard guard(device);
  cudaMemPool_t pool = cuda::Context::of(device).pool();
  if (reset_peak) {
    std::uint64_t zero = 0;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
  }
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return {attribute(pool, cudaMemPoolAttrUsedMemCurrent), attribute(pool, cudaMemPoolAttrUsedMemHigh),
          total - free - attribute(pool, cudaMemPoolAttrReservedMemCurrent)};
}

struct RecordedStep::Impl {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
};

RecordedStep::RecordedStep() : impl_(std::make_unique<Impl>()) {
  check(cudaStreamCreateWithFlags(&impl_->stream, cudaStreamNonBlocking));
}

RecordedStep::~RecordedStep() {
  if (impl_->ready != nullptr) cudaGraphExecDestroy(impl_->ready);
  if (impl_->graph != nullptr) cudaGraphDestroy(impl_->graph);
  cudaStreamDestroy(impl_->stream);
}

CUstream_st* RecordedStep::stream() const { return impl_->stream; }

void RecordedStep::record(const std::function<void()>& work) {
  check(cudaStreamBeginCapture(impl_->stream, cudaStreamCaptureModeThreadLocal));
  work();
  check(cudaStreamEndCapture(impl_->stream, &impl_->graph));
  check(cudaGraphInstantiate(&impl_->ready, impl_->graph, 0));
}

void RecordedStep::launch() { check(cudaGraphLaunch(impl_->ready, impl_->stream)); }

void RecordedStep::wait() { check(cudaStreamSynchronize(impl_->stream)); }

namespace {

__global__ void scale(std::int64_t n, double factor, const double* u, double* b) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) b[i] = factor * u[i];
}

}  // namespace

void RecordedStep::enqueue_scaled(double factor, std::span<const double> u, std::span<double> b) {
  constexpr unsigned threads = 256;
  const auto blocks = static_cast<unsigned>((u.size() + threads - 1) / threads);
  scale<<<blocks, threads, 0, impl_->stream>>>(static_cast<std::int64_t>(u.size()), factor, u.data(), b.data());
  check(cudaGetLastError());
}

}  // namespace tessera::bench
