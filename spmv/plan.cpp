#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "spmv/csr/csr.hpp"
#include "spmv/kernel.hpp"
#include "spmv/registry.hpp"
#include "spmv/selection.hpp"
#include "tessera/error.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

namespace {

void check_options(const SpmvOptions& options) {
  if (!options.device.is_host()) {
    throw DeviceUnavailable(
        fmt::format("SpMV kernels of this build run on the host only, asked for {}", options.device.name()));
  }
  if (options.sigma < 0) throw InvalidArgument(fmt::format("sigma must not be negative, got {}", options.sigma));
  if (options.descriptor_bits != 0 && options.descriptor_bits != 32 && options.descriptor_bits != 64) {
    throw InvalidArgument(fmt::format("descriptor_bits must be 32, 64 or 0, got {}", options.descriptor_bits));
  }
  if (options.expected_applications < 0) {
    throw InvalidArgument(
        fmt::format("expected_applications must not be negative, got {}", options.expected_applications));
  }
  if (options.algorithm == SpmvAlgorithm::automatic) {
    if (options.sigma == 0 && options.descriptor_bits == 0) return;
    throw NotSupported("sigma and descriptor_bits belong to the kernel merbit: name it, automatic may take another");
  }
  const SpmvKernelEntry& entry = spmv_kernel_entry(options.algorithm);
  if (entry.strongest < options.determinism) {
    throw NotSupported(fmt::format("kernel {} keeps {} at most, asked for {}", entry.name, to_string(entry.strongest),
                                   to_string(options.determinism)));
  }
  if (!entry.has_setup && (options.sigma != 0 || options.descriptor_bits != 0)) {
    throw NotSupported(fmt::format("kernel {} has no descriptors: sigma and descriptor_bits do not apply", entry.name));
  }
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  const SpmvKernelEntry& entry = spmv_kernel_entry(options.algorithm);
  if constexpr (std::is_same_v<T, float>) {
    return entry.make_float(a, options);
  } else {
    return entry.make_double(a, options);
  }
}

/// Never 0, which DualBuffer uses for "no plan".
std::uint64_t next_plan_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// Smallest index at which a and b, of equal length, differ; their length when they are the same.
template <class I>
std::int64_t first_difference(const Device& device, std::span<const I> a, std::span<const I> b) {
  const auto size = static_cast<std::int64_t>(a.size());
  std::atomic<std::int64_t> first{size};
  host::parallel_for(device, size, [&](host::Range range) {
    const auto differ = std::mismatch(a.begin() + range.begin, a.begin() + range.end, b.begin() + range.begin);
    const std::int64_t here = differ.first - a.begin();
    if (here == range.end) return;
    std::int64_t seen = first.load();
    while (here < seen && !first.compare_exchange_weak(seen, here)) {
    }
  });
  return first.load();
}

template <class T>
void check_same_structure(const Device& device, const CsrView<T>& planned, const CsrView<T>& given) {
  if (planned.rows != given.rows || planned.cols != given.cols || planned.nnz() != given.nnz()) {
    throw InvalidMatrix(fmt::format("the plan is for a {} x {} matrix with {} nonzeros, got {} x {} with {}",
                                    planned.rows, planned.cols, planned.nnz(), given.rows, given.cols, given.nnz()));
  }
  if (planned.storage != given.storage) {
    throw InvalidMatrix(fmt::format("the plan is for a {} matrix, got a {} one",
                                    planned.is_pattern() ? "pattern" : "weighted",
                                    given.is_pattern() ? "pattern" : "weighted"));
  }
  const std::int64_t row = first_difference(device, planned.row_offsets, given.row_offsets);
  if (row <= planned.rows) {
    const auto i = static_cast<std::size_t>(row);
    throw InvalidMatrix(fmt::format("row offset {} is {} in the plan and {} in the matrix given", row,
                                    planned.row_offsets[i], given.row_offsets[i]));
  }
  const offset_t entry = first_difference(device, planned.columns, given.columns);
  if (entry < planned.nnz()) {
    const auto k = static_cast<std::size_t>(entry);
    const auto owner = std::upper_bound(planned.row_offsets.begin(), planned.row_offsets.end(), entry);
    throw InvalidMatrix(fmt::format("row {}, nonzero {}: column {} in the plan, {} in the matrix given",
                                    owner - planned.row_offsets.begin() - 1, entry, planned.columns[k],
                                    given.columns[k]));
  }
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class T>
double time_product(const SpmvKernel<T>& kernel, const CsrView<T>& a, std::span<const T> x, std::span<T> y) {
  const Stopwatch watch;
  kernel.apply(a, T{1}, x, T{0}, y);
  return watch.milliseconds();
}

}  // namespace

template <class T>
struct SpmvPlan<T>::Impl {
  std::shared_ptr<const Csr<T>> matrix;
  Array<T> updated_values;  ///< empty until the first update
  Device device;
  std::unique_ptr<SpmvKernel<T>> kernel;
  PlanInfo info;
  std::uint64_t id = next_plan_id();

  Impl(std::shared_ptr<const Csr<T>> source, const SpmvOptions& options)
      : matrix(std::move(source)), device(options.device) {
    if (!matrix) throw InvalidArgument("SpmvPlan needs a matrix, got a null pointer");
    check_options(options);
    const Stopwatch watch;
    SpmvOptions chosen = options;
    if (options.algorithm == SpmvAlgorithm::automatic) {
      SpmvSelection selection = select_spmv_kernel(matrix->view(), options);
      chosen.algorithm = selection.algorithm;
      // The strongest class costs nothing on the host: whoever leaves the choice to us gets reproducible results.
      chosen.determinism = spmv_kernel_entry(selection.algorithm).strongest;
      info.reason = std::move(selection.reason);
    } else {
      info.reason = "named by the caller";
    }
    info.algorithm = chosen.algorithm;
    kernel = make_kernel(matrix->view(), chosen);
    kernel->describe(info);
    info.build_ms = watch.milliseconds();
  }

  [[nodiscard]] CsrView<T> view() const noexcept {
    CsrView<T> result = matrix->view();
    if (!updated_values.empty()) result.values = updated_values.span();
    return result;
  }

  /// One product into `out`, by product(y) or, where both sides can, by dual_product(y, other).
  template <class Product, class DualProduct>
  ProductDots apply_buffered(DualBuffer<T>& out, Product&& product, DualProduct&& dual_product) const {
    constexpr auto dual = DualBuffer<T>::Mode::dual;
    if (kernel->output_mode() != dual || out.mode() != dual) {
      out.set_prepared_for(0);
      return product(out.current());
    }
    if (out.prepared_for() != id) kernel->prepare_dual(out.next());
    // Until the product is complete nobody may rely on the shared rows.
    out.set_prepared_for(0);
    const ProductDots dots = dual_product(out.next(), out.current());
    out.swap();
    out.set_prepared_for(id);
    return dots;
  }
};

template <class T>
SpmvPlan<T>::SpmvPlan(Csr<T> matrix, const SpmvOptions& options)
    : SpmvPlan(std::make_shared<const Csr<T>>(std::move(matrix)), options) {}

template <class T>
SpmvPlan<T>::SpmvPlan(std::shared_ptr<const Csr<T>> matrix, const SpmvOptions& options)
    : impl_(std::make_unique<Impl>(std::move(matrix), options)) {}

template <class T>
SpmvPlan<T>::~SpmvPlan() = default;
template <class T>
SpmvPlan<T>::SpmvPlan(SpmvPlan&&) noexcept = default;
template <class T>
SpmvPlan<T>& SpmvPlan<T>::operator=(SpmvPlan&&) noexcept = default;

template <class T>
std::int64_t SpmvPlan<T>::rows() const {
  return impl_->matrix->rows();
}

template <class T>
std::int64_t SpmvPlan<T>::cols() const {
  return impl_->matrix->cols();
}

template <class T>
Device SpmvPlan<T>::device() const {
  return impl_->device;
}

template <class T>
DualBuffer<T> SpmvPlan<T>::make_output() const {
  return DualBuffer<T>(rows(), impl_->kernel->output_mode(), impl_->device);
}

template <class T>
const PlanInfo& SpmvPlan<T>::info() const noexcept {
  return impl_->info;
}

template <class T>
CsrView<T> SpmvPlan<T>::matrix() const noexcept {
  return impl_->view();
}

template <class T>
void SpmvPlan<T>::update_values(std::span<const T> values) {
  const CsrView<T> planned = impl_->view();
  if (planned.is_pattern()) throw InvalidArgument("a pattern matrix has no values to update");
  if (values.size() != planned.values.size()) {
    throw DimensionError(fmt::format("the planned matrix has {} values, got {}", planned.values.size(), values.size()));
  }
  if (impl_->updated_values.empty()) {
    impl_->updated_values = Array<T>::copy_of(values, impl_->device);
  } else {
    std::copy(values.begin(), values.end(), impl_->updated_values.begin());
  }
}

template <class T>
void SpmvPlan<T>::update_values(const CsrView<T>& matrix) {
  check_same_structure(impl_->device, impl_->view(), matrix);
  update_values(matrix.values);
}

template <class T>
BreakEven SpmvPlan<T>::measure_break_even(int repetitions) const {
  if (repetitions < 1 || repetitions > 1000) {
    throw InvalidArgument(fmt::format("repetitions must be in [1, 1000], got {}", repetitions));
  }
  const CsrView<T> a = impl_->view();
  SpmvOptions plain;
  plain.algorithm = SpmvAlgorithm::csr;
  plain.device = impl_->device;
  const auto reference = make_kernel(a, plain);
  Array<T> x(cols());
  std::fill(x.begin(), x.end(), T{1});
  Array<T> y(rows());
  std::vector<double> own_ms;
  std::vector<double> reference_ms;
  for (int i = 0; i <= repetitions; ++i) {
    const double own = time_product<T>(*impl_->kernel, a, x.span(), y.span());
    const double other = time_product<T>(*reference, a, x.span(), y.span());
    if (i == 0) continue;  // warm-up
    own_ms.push_back(own);
    reference_ms.push_back(other);
  }
  BreakEven result{median(own_ms), median(reference_ms), std::nullopt};
  if (!spmv_kernel_entry(impl_->info.algorithm).has_setup) {
    result.applications = 0;
  } else if (result.apply_ms < result.reference_ms) {
    const double count = std::ceil(impl_->info.build_ms / (result.reference_ms - result.apply_ms));
    // A difference far below the clock's resolution would not fit an integer.
    if (count < 1e18) result.applications = static_cast<std::int64_t>(count);
  }
  return result;
}

template <class T>
void SpmvPlan<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  impl_->kernel->apply(impl_->view(), alpha, x, beta, y);
}

template <class T>
ProductDots SpmvPlan<T>::do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const {
  return impl_->kernel->apply_and_dot(impl_->view(), x, y, w);
}

template <class T>
double SpmvPlan<T>::do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  if constexpr (std::is_same_v<T, float>) {
    return host::csr_residual(impl_->device, impl_->view(), exponent, b, x, r);
  } else {
    return LinearOperator<T>::do_residual(exponent, b, x, r);
  }
}

template <class T>
void SpmvPlan<T>::do_apply_buffered(std::span<const T> x, DualBuffer<T>& out) const {
  impl_->apply_buffered(
      out,
      [&](std::span<T> y) -> ProductDots {
        impl_->kernel->apply(impl_->view(), T{1}, x, T{0}, y);
        return {};
      },
      [&](std::span<T> y, std::span<T> other) -> ProductDots {
        impl_->kernel->apply_dual(impl_->view(), x, y, other);
        return {};
      });
}

template <class T>
ProductDots SpmvPlan<T>::do_apply_and_dot_buffered(std::span<const T> x, DualBuffer<T>& out,
                                                   std::span<const T> w) const {
  return impl_->apply_buffered(
      out, [&](std::span<T> y) { return impl_->kernel->apply_and_dot(impl_->view(), x, y, w); },
      [&](std::span<T> y, std::span<T> other) {
        return impl_->kernel->apply_dual_and_dot(impl_->view(), x, y, other, w);
      });
}

template class SpmvPlan<float>;
template class SpmvPlan<double>;

}  // namespace tessera
