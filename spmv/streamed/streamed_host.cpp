/// \file
/// The streamed product on the host: views of ranges of rows, with the bits of csr. And when a plan streams.
#include "spmv/streamed/streamed.hpp"

#include "core/cuda/memory.hpp"
#include "core/parallel.hpp"
#include "spmv/common/epilogue.hpp"
#include "spmv/common/gather_access.hpp"
#include "spmv/common/terms.hpp"
#include "spmv/streamed/streamed_slices.hpp"
#include "spmv/streamed/streamed_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tessera::host {

namespace {

template <class T>
class StreamedOnHost final : public SpmvKernel<T> {
 public:
  StreamedOnHost(const CsrView<T>& a, const SpmvOptions& options)
      : device_(options.device),
        access_(classify_gathers(a)),
        slices_(cut_slices(a, SliceFormat{}, slice_bytes_for(csr_bytes_of(a), 0), std::nullopt)) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    with_terms(a, x, access_, [&](const auto& terms) {
      with_epilogue(alpha, beta, y, [&](const auto& epilogue) {
        for (const Slice& slice : slices_) multiply(a, slice, terms, epilogue);
      });
    });
  }

  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    apply(a, T{1}, x, T{0}, y);
    return parallel_sum<ProductDots>(device_, a.rows, [&](Range rows) {
      const OverwriteAndDot<T> dot{y.data(), w.data()};
      ProductDots dots;
      for (std::int64_t i = rows.begin; i < rows.end; ++i) dot.finish(static_cast<index_t>(i), dots);
      return dots;
    });
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::gpu_to_gpu;
    info.bytes = slices_.size() * sizeof(Slice);
    StreamInfo& stream = info.stream.emplace();
    stream.slices = std::ssize(slices_);
    for (const Slice& slice : slices_) stream.slice_bytes = std::max(stream.slice_bytes, slice.layout.bytes);
  }

 private:
  [[nodiscard]] static std::uint64_t csr_bytes_of(const CsrView<T>& a) noexcept {
    return a.row_offsets.size_bytes() + a.columns.size_bytes() + a.values.size_bytes();
  }

  /// By value, as in csr: the compiler keeps the pointers of terms and epilogue in registers.
  template <class Terms, class Epilogue>
  void multiply(const CsrView<T>& a, const Slice& slice, Terms terms, Epilogue epilogue) const {
    const offset_t* const offsets = a.row_offsets.data() + slice.first_row;
    parallel_for(device_, slice.rows, [=](Range rows) {
      ProductDots unused;
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        epilogue.store(static_cast<index_t>(slice.first_row + r), sum_terms<T>(terms, offsets[r], offsets[r + 1]),
                       unused);
      }
    });
  }

  Device device_;
  GatherAccess access_;
  std::vector<Slice> slices_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_streamed_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<StreamedOnHost<T>>(a, options);
}

template std::unique_ptr<SpmvKernel<float>> make_streamed_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_streamed_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::host

namespace tessera::detail {

namespace {

/// "1.25 GB"; sizes of tests are small.
[[nodiscard]] std::string decimal(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  return number < 1e6   ? fmt::format("{:.3g} kB", 1e-3 * number)
         : number < 1e9 ? fmt::format("{:.3g} MB", 1e-6 * number)
                        : fmt::format("{:.3g} GB", 1e-9 * number);
}

/// Of the GPU, beside a solve.
template <class T>
[[nodiscard]] std::uint64_t free_for_matrix(const Csr<T>& matrix, const Device& gpu) {
  const auto free = static_cast<std::uint64_t>(streamed_free_share * static_cast<double>(cuda::available_bytes(gpu)));
  const std::uint64_t vectors =
      vectors_of_a_solve * sizeof(T) * static_cast<std::uint64_t>(std::max(matrix.rows(), matrix.cols()));
  return free - std::min(free, vectors);
}

}  // namespace

template <class T>
std::optional<Streaming> choose_streaming(const Csr<T>& matrix, const SpmvOptions& options) {
  if (options.device.is_host()) return std::nullopt;
  if (options.algorithm == SpmvAlgorithm::streamed) return Streaming{"named by the caller", options.memory_limit_bytes};
  const bool is_open = options.algorithm == SpmvAlgorithm::automatic || options.algorithm == SpmvAlgorithm::measured;
  const bool has_choice = is_open && matrix.device().is_host() && options.determinism <= Determinism::run_to_run;
  if (!has_choice || matrix.nnz() == 0) return std::nullopt;
  // Descriptors of the kernels that `automatic` takes.
  const auto nonzeros = static_cast<std::uint64_t>(matrix.nnz());
  const std::uint64_t needed = (options.with_transpose ? 2 : 1) * (matrix.bytes() + 2 * nonzeros / 5);
  if (options.memory_limit_bytes != 0) {
    if (needed <= options.memory_limit_bytes) return std::nullopt;
    return Streaming{fmt::format("the matrix takes {} with its plan, {} are allowed on {}", decimal(needed),
                                 decimal(options.memory_limit_bytes), options.device.name()),
                     options.memory_limit_bytes};
  }
  if (needed <= surely_fits_bytes) return std::nullopt;
  const std::uint64_t left = free_for_matrix(matrix, options.device);
  if (needed <= left) return std::nullopt;
  return Streaming{fmt::format("the matrix takes {} with its plan, {} has {} free beside vectors", decimal(needed),
                               options.device.name(), decimal(left)),
                   std::max<std::uint64_t>(left, 2)};
}

template std::optional<Streaming> choose_streaming(const Csr<float>&, const SpmvOptions&);
template std::optional<Streaming> choose_streaming(const Csr<double>&, const SpmvOptions&);

}  // namespace tessera::detail
