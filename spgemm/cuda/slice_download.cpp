/// \file
/// Slices of a product on their way to the host: copies into page-locked memory in a stream of their own.
#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "core/cuda/page_locked.hpp"
#include "core/parallel.hpp"
#include "spgemm/common/slices.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace tessera::cuda {

namespace {

/// Sections of a slice begin at multiples of so many bytes.
constexpr std::uint64_t section_bytes = 256;
/// Slices are of nearly one size; a larger one takes a little more.
constexpr std::uint64_t growth_percent = 125;

template <class T>
class Download final : public SliceDownload<T> {
 public:
  explicit Download(const Device& device) : device_(device) {
    const DeviceGuard current(device_);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreateWithFlags(&formed_, cudaEventDisableTiming), "making an event");
  }
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;
  ~Download() override {
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaEventDestroy(formed_));
    static_cast<void>(cudaStreamDestroy(stream_));
    static_cast<void>(cudaGetLastError());
  }

  void start(Csr<T> slice) override {
    const DeviceGuard current(device_);
    const std::uint64_t bytes = end_of(slice.row_offsets()) + end_of(slice.columns()) + end_of(slice.values());
    if (bytes > staging_.bytes()) {
      staging_ = PageLockedMemory();
      staging_ = PageLockedMemory(bytes / 100 * growth_percent + section_bytes, "page-locked memory of a slice of C");
    }
    check(cudaEventRecord(formed_, Context::of(device_).stream()), "recording an event");
    check(cudaStreamWaitEvent(stream_, formed_, 0), "waiting for a slice");
    std::uint64_t begin = 0;
    begin = copy(slice.row_offsets(), begin);
    begin = copy(slice.columns(), begin);
    static_cast<void>(copy(slice.values(), begin));
    slice_.emplace(std::move(slice));
  }

  [[nodiscard]] bool is_pending() const noexcept override { return slice_.has_value(); }

  [[nodiscard]] Csr<T> finish() override {
    check(cudaStreamSynchronize(stream_), "bringing a slice to the host");
    const Csr<T> there = *std::exchange(slice_, std::nullopt);
    std::uint64_t begin = 0;
    Array<offset_t> row_offsets = fetched(there.row_offsets(), begin);
    Array<index_t> columns = fetched(there.columns(), begin);
    if (there.is_pattern()) {
      return Csr<T>::pattern(there.rows(), there.cols(), std::move(row_offsets), std::move(columns), Check::trusted);
    }
    Array<T> values = fetched(there.values(), begin);
    return Csr<T>(there.rows(), there.cols(), std::move(row_offsets), std::move(columns), std::move(values),
                  Check::trusted);
  }

 private:
  template <class E>
  [[nodiscard]] static std::uint64_t end_of(const Array<E>& array) noexcept {
    return (array.bytes() + section_bytes - 1) / section_bytes * section_bytes;
  }

  template <class E>
  [[nodiscard]] std::uint64_t copy(const Array<E>& array, std::uint64_t begin) {
    if (!array.empty()) {
      check(cudaMemcpyAsync(staging_.data() + begin, array.data(), array.bytes(), cudaMemcpyDefault, stream_),
            "bringing a slice to the host");
    }
    return begin + end_of(array);
  }

  template <class E>
  [[nodiscard]] Array<E> fetched(const Array<E>& there, std::uint64_t& begin) const {
    Array<E> here(there.size(), Init::none);
    if (!here.empty()) detail::copy_bytes(Device{}, here.data(), Device{}, staging_.data() + begin, here.bytes());
    begin += end_of(there);
    return here;
  }

  Device device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t formed_ = nullptr;
  PageLockedMemory staging_;
  std::optional<Csr<T>> slice_;  ///< on its way
};

}  // namespace

template <class T>
std::unique_ptr<SliceDownload<T>> make_slice_download(const Device& device) {
  return std::make_unique<Download<T>>(device);
}

template std::unique_ptr<SliceDownload<float>> make_slice_download(const Device&);
template std::unique_ptr<SliceDownload<double>> make_slice_download(const Device&);

}  // namespace tessera::cuda
