/// \file
/// The streamed product on a GPU: copies of slices in a stream of their own, products in that of the context.
#include "core/cuda/context.hpp"
#include "core/cuda/page_locked.hpp"
#include "core/cuda/vector_ops.hpp"
#include "core/parallel.hpp"
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/streamed/streamed.hpp"
#include "spmv/streamed/streamed_product.hpp"
#include "spmv/streamed/streamed_tuning.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tessera::cuda {

namespace {

/// Columns of a product that share the copies of slices.
constexpr std::int64_t columns_per_pass = 8;

/// The stream of copies, and what orders it with the stream of products.
class CopyStream {
 public:
  explicit CopyStream(const Device& device) : device_(device) {
    const DeviceGuard current(device);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    for (cudaEvent_t& event : loaded_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
    for (cudaEvent_t& event : emptied_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
    for (cudaEvent_t& event : clock_) check(cudaEventCreate(&event), "making an event");
  }
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;
  ~CopyStream() {
    static_cast<void>(cudaStreamSynchronize(stream_));
    for (cudaEvent_t event : loaded_) static_cast<void>(cudaEventDestroy(event));
    for (cudaEvent_t event : emptied_) static_cast<void>(cudaEventDestroy(event));
    for (cudaEvent_t event : clock_) static_cast<void>(cudaEventDestroy(event));
    static_cast<void>(cudaStreamDestroy(stream_));
    static_cast<void>(cudaGetLastError());
  }

  /// The copy waits until the buffer is emptied; `products` waits for the copy. The device is current.
  void load(std::size_t buffer, std::byte* target, const PageLockedMemory& source, cudaStream_t products) {
    check(cudaStreamWaitEvent(stream_, emptied_[buffer], 0), "waiting for a buffer");
    check(cudaMemcpyAsync(target, source.data(), source.bytes(), cudaMemcpyDefault, stream_), "copying a slice");
    check(cudaEventRecord(loaded_[buffer], stream_), "recording a copy");
    check(cudaStreamWaitEvent(products, loaded_[buffer], 0), "waiting for a slice");
  }
  /// After the products of a slice were put into `products`.
  void release(std::size_t buffer, cudaStream_t products) {
    check(cudaEventRecord(emptied_[buffer], products), "recording a product");
  }

  /// Bytes per second of a copy, the second of two.
  [[nodiscard]] double measure(std::byte* target, const PageLockedMemory& source) {
    float milliseconds = 0.0F;
    for (int round = 0; round < 2; ++round) {
      check(cudaEventRecord(clock_[0], stream_), "recording an event");
      check(cudaMemcpyAsync(target, source.data(), source.bytes(), cudaMemcpyDefault, stream_), "copying a slice");
      check(cudaEventRecord(clock_[1], stream_), "recording an event");
      wait();
      check(cudaEventElapsedTime(&milliseconds, clock_[0], clock_[1]), "timing a copy");
    }
    constexpr float least = 1e-6F;  // a clock that does not tick
    return 1e3 * static_cast<double>(source.bytes()) / static_cast<double>(std::max(milliseconds, least));
  }

  void wait() const { check(cudaStreamSynchronize(stream_), "waiting for copies"); }

 private:
  Device device_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, slice_buffers> loaded_{};
  std::array<cudaEvent_t, slice_buffers> emptied_{};
  std::array<cudaEvent_t, 2> clock_{};
};

/// As csr-vector sums the rows of this matrix on a GPU.
template <class T>
[[nodiscard]] int lanes_of(const CsrView<T>& a) {
  if (a.rows == 0) return 1;
  const offset_t* const offsets = a.row_offsets.data();
  const auto typical = host::parallel_sum<offset_t>(Device{}, a.rows, [offsets](host::Range rows) {
    offset_t sum = 0;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const offset_t length = offsets[i + 1] - offsets[i];
      sum += length <= csr_vector_typical_row ? length : 0;
    }
    return sum;
  });
  return csr_vector_lanes(a.rows, typical);
}

/// Slices of a matrix, packed: the first ones on the GPU, the others in page-locked memory.
template <class T>
class PackedSlices {
 public:
  /// \param memory_bytes of the GPU; 0: buffers alone
  PackedSlices(const Device& device, const CsrView<T>& a, std::uint64_t memory_bytes)
      : device_(device), rule_(rule_for(a)), part_rule_{rule_.long_row, csr_vector_part} {
    const std::uint64_t csr = a.row_offsets.size_bytes() + a.columns.size_bytes() + a.values.size_bytes();
    slices_ = cut_slices(a, rule_.format, slice_bytes_for(csr, memory_bytes), part_rule_);
    std::int64_t parts = 0;
    for (const Slice& slice : slices_) {
      largest_ = std::max(largest_, slice.layout.bytes);
      parts = std::max<std::int64_t>(parts, slice.parts);
    }
    share_out(memory_bytes, (static_cast<std::uint64_t>(parts) + 2 * columns_per_pass) * sizeof(T));
    sums_ = Array<T>(parts + 2 * columns_per_pass, Init::none, device);
    allocate();
    fill(a);
  }

  /// Whether new values fit the format.
  [[nodiscard]] bool can_keep(const CsrView<T>& a) const {
    return rule_.format.values != SliceValues::single || slice_format(Device{}, a).values == SliceValues::single;
  }

  /// Packs all slices. No product is under way.
  void fill(const CsrView<T>& a) {
    const Device host;
    for (std::size_t k = 0; k < slices_.size(); ++k) {
      const bool stays = k < resident_.size();
      PageLockedMemory& target = stays ? staging_ : packed_[k - resident_.size()];
      pack_slice(host, a, rule_.format, part_rule_, slices_[k], target.data());
      if (!stays) continue;
      detail::copy_bytes(device_, resident_[k].data(), host, target.data(), resident_[k].bytes());
    }
  }

  [[nodiscard]] const std::vector<Slice>& slices() const noexcept { return slices_; }
  [[nodiscard]] const SliceRule& rule() const noexcept { return rule_; }
  [[nodiscard]] std::size_t resident() const noexcept { return resident_.size(); }
  [[nodiscard]] const std::byte* resident_slice(std::size_t k) const noexcept { return resident_[k].data(); }
  [[nodiscard]] const PageLockedMemory& packed_slice(std::size_t k) const noexcept {
    return packed_[k - resident_.size()];
  }
  /// The buffer of slice k, which is not resident.
  [[nodiscard]] std::size_t buffer_of(std::size_t k) const noexcept { return (k - resident_.size()) % buffers_.size(); }
  [[nodiscard]] std::byte* buffer(std::size_t b) noexcept { return buffers_[b].data(); }

  /// Of slice k and a column of a pass. Two places in turn: a slice may end one row and leave another open.
  [[nodiscard]] SliceSums<T> sums(std::size_t k, std::int64_t column) noexcept {
    T* const carries = sums_.data() + (sums_.size() - 2 * columns_per_pass) + 2 * column;
    return {sums_.data(), carries + k % 2, carries + (k + 1) % 2};
  }

  [[nodiscard]] std::uint64_t device_bytes() const noexcept {
    std::uint64_t bytes = sums_.bytes();
    for (const auto& each : resident_) bytes += each.bytes();
    for (const auto& each : buffers_) bytes += each.bytes();
    return bytes;
  }

  [[nodiscard]] StreamInfo info() const {
    StreamInfo info;
    info.slices = std::ssize(slices_);
    info.resident_slices = std::ssize(resident_);
    info.slice_bytes = largest_;
    for (const PageLockedMemory& each : packed_) info.bytes_per_product += each.bytes();
    info.page_locked_bytes = info.bytes_per_product + staging_.bytes();
    return info;
  }

 private:
  [[nodiscard]] static SliceRule rule_for(const CsrView<T>& a) {
    const int lanes = lanes_of(a);
    return {slice_format(Device{}, a), lanes, csr_vector_long_row(lanes)};
  }

  /// How many slices stay on the GPU, and how many buffers serve the others. \throws OutOfMemory
  void share_out(std::uint64_t memory_bytes, std::uint64_t sums_bytes) {
    std::uint64_t total = sums_bytes;
    for (const Slice& slice : slices_) total += slice.layout.bytes;
    if (memory_bytes != 0 && total <= memory_bytes) {
      residents_ = slices_.size();
      return;
    }
    std::uint64_t held = sums_bytes + slice_buffers * largest_;
    buffer_count_ = slice_buffers;
    if (memory_bytes != 0 && held > memory_bytes) {
      held = sums_bytes + least_slice_buffers * largest_;
      buffer_count_ = least_slice_buffers;
    }
    if (memory_bytes != 0 && held > memory_bytes) {
      throw OutOfMemory(
          held, memory_bytes,
          fmt::format("{} slices of {} bytes of a streamed matrix on {}", buffer_count_, largest_, device_.name()));
    }
    buffer_count_ = std::min<std::uint64_t>(buffer_count_, slices_.size());
    if (memory_bytes == 0) return;
    while (held + slices_[residents_].layout.bytes <= memory_bytes) held += slices_[residents_++].layout.bytes;
  }

  void allocate() {
    const auto on_gpu = [this](std::uint64_t bytes) {
      return Array<std::byte>(static_cast<std::int64_t>(bytes), Init::none, device_);
    };
    const DeviceGuard current(device_);
    if (residents_ > 0) staging_ = PageLockedMemory(largest_, "page-locked memory of a slice");
    for (std::size_t k = 0; k < slices_.size(); ++k) {
      const std::uint64_t bytes = slices_[k].layout.bytes;
      if (k < residents_) {
        resident_.push_back(on_gpu(bytes));
      } else {
        packed_.emplace_back(bytes, "page-locked memory of a slice");
      }
    }
    for (std::uint64_t b = 0; b < buffer_count_; ++b) buffers_.push_back(on_gpu(largest_));
    synchronize(device_);  // the stream of copies may use them from now on
  }

  Device device_;
  SliceRule rule_;
  LongRowRule part_rule_;
  std::vector<Slice> slices_;
  std::uint64_t largest_ = 0;  ///< bytes of a slice
  std::size_t residents_ = 0;
  std::uint64_t buffer_count_ = 0;
  PageLockedMemory staging_;  ///< of slices that stay on the GPU
  std::vector<PageLockedMemory> packed_;
  std::vector<Array<std::byte>> resident_;
  std::vector<Array<std::byte>> buffers_;
  Array<T> sums_;  ///< of parts, then two per column of a pass
};

template <class T>
class StreamedOnDevice final : public SpmvKernel<T> {
 public:
  StreamedOnDevice(const CsrView<T>& a, const SpmvOptions& options)
      : device_(options.device),
        memory_bytes_(options.memory_limit_bytes),
        structure_(a),
        slices_(std::make_unique<PackedSlices<T>>(device_, a, memory_bytes_)),
        copies_(device_) {
    measure_bus();
  }
  ~StreamedOnDevice() override {
    try {
      const DeviceGuard current(device_);
      copies_.wait();  // they read page-locked memory
    } catch (...) {
      return;  // the device has failed
    }
  }

  void apply(const CsrView<T>& /*a*/, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    multiply(alpha, {x, static_cast<std::int64_t>(x.size()), 1}, beta, {y, static_cast<std::int64_t>(y.size()), 1});
  }

  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    apply(a, T{1}, x, T{0}, y);
    return dots<T>(device_, y, w);
  }

  bool apply_many(const CsrView<T>& /*a*/, T alpha, const MultiVectorView<const T>& x, T beta,
                  const MultiVectorView<T>& y) const override {
    for (std::int64_t first = 0; first < x.columns(); first += columns_per_pass) {
      const std::int64_t count = std::min(columns_per_pass, x.columns() - first);
      multiply(alpha, x.columns(first, count), beta, y.columns(first, count));
    }
    return true;
  }

  /// Values that are no floats any more widen the slices: these are made anew beside the old ones.
  void update_values(std::span<const T> values) override {
    CsrView<T> updated = structure_;
    updated.values = values;
    const std::scoped_lock lock(mutex_);
    synchronize(device_);
    if (slices_->can_keep(updated)) return slices_->fill(updated);
    slices_ = std::make_unique<PackedSlices<T>>(device_, updated, memory_bytes_);
    measure_bus();
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    info.bytes = slices_->device_bytes();
    StreamInfo stream = slices_->info();
    stream.bytes_per_second = bytes_per_second_;
    if (bytes_per_second_ > 0.0) {
      stream.predicted_ms = 1e3 * static_cast<double>(stream.bytes_per_product) / bytes_per_second_;
      info.reason += fmt::format("; {:.3g} GB cross the bus per product, which takes {:.3g} ms at {:.3g} GB/s",
                                 1e-9 * static_cast<double>(stream.bytes_per_product), stream.predicted_ms,
                                 1e-9 * bytes_per_second_);
    }
    if (stream.resident_slices > 0) {
      info.reason += fmt::format("; {} of {} slices stay on the GPU", stream.resident_slices, stream.slices);
    }
    info.stream = stream;
  }

 private:
  void measure_bus() {
    const std::size_t first = slices_->resident();
    bytes_per_second_ = 0.0;
    if (first == slices_->slices().size()) return;
    const DeviceGuard current(device_);
    bytes_per_second_ = copies_.measure(slices_->buffer(slices_->buffer_of(first)), slices_->packed_slice(first));
  }

  /// At most columns_per_pass columns. The host is ahead: copies begin as soon as their buffers are empty.
  void multiply(T alpha, const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) const {
    const std::scoped_lock lock(mutex_);
    const DeviceGuard current(device_);
    cudaStream_t products = Context::of(device_).stream();
    PackedSlices<T>& slices = *slices_;
    for (std::size_t k = 0; k < slices.slices().size(); ++k) {
      if (k < slices.resident()) {
        multiply_slice(k, slices.resident_slice(k), alpha, x, beta, y);
        continue;
      }
      const std::size_t b = slices.buffer_of(k);
      copies_.load(b, slices.buffer(b), slices.packed_slice(k), products);
      multiply_slice(k, slices.buffer(b), alpha, x, beta, y);
      copies_.release(b, products);
    }
  }

  void multiply_slice(std::size_t k, const std::byte* packed, T alpha, const MultiVectorView<const T>& x, T beta,
                      const MultiVectorView<T>& y) const {
    for (std::int64_t j = 0; j < x.columns(); ++j) {
      const SliceOperands<T> operands{alpha,
                                      beta,
                                      {x.data() + j * x.column_stride(), x.row_stride()},
                                      {y.data() + j * y.column_stride(), y.row_stride()}};
      enqueue_slice_product(device_, slices_->slices()[k], slices_->rule(), packed, operands, slices_->sums(k, j));
    }
  }

  Device device_;
  std::uint64_t memory_bytes_;
  CsrView<T> structure_;
  double bytes_per_second_ = 0.0;
  mutable std::mutex mutex_;  ///< of what follows, from the first copy of a product to its last launch
  std::unique_ptr<PackedSlices<T>> slices_;
  mutable CopyStream copies_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_streamed_kernel(const CsrView<T>& on_host, const SpmvOptions& options) {
  return std::make_unique<StreamedOnDevice<T>>(on_host, options);
}

template std::unique_ptr<SpmvKernel<float>> make_streamed_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_streamed_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
