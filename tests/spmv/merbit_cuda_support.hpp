/// \file
/// Products of one MERBIT kernel on a GPU, with vectors and results on the host.
#pragma once

#include "preprocess/snapped_tiles.hpp"
#include "spmv/merbit/merbit.hpp"
#include "spmv/merbit/merbit_tuning.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/hub_rules.hpp"

#include <optional>
#include <utility>

namespace tessera::testing {

using namespace detail;

/// What is forced on a kernel.
struct MerbitCudaCase {
  std::string name;
  std::optional<cuda::MerbitLayout> layout;
  int sigma = 0;
  int descriptor_bits = 0;
  std::optional<cuda::HubRules> hubs = {};
};

/// Whether the GPU has the bulk copies of the layout `rows`.
[[nodiscard]] inline bool has_row_layout() { return cuda::device_limits(0).compute_capability >= 90; }

/// \returns those that the GPU can run
[[nodiscard]] inline std::vector<MerbitCudaCase> merbit_cuda_cases() {
  using enum cuda::MerbitLayout;
  std::vector<MerbitCudaCase> cases = {{"chosen", {}},
                                       {"scalar", scalar},
                                       {"vector", vector},
                                       {"columns", columns},
                                       {"local columns", local_columns},
                                       {"exact, sigma 1", {}, 1},
                                       {"exact, sigma 7", {}, 7},
                                       {"exact, sigma 22", {}, 22},
                                       {"exact, 64 bits", {}, 0, 64},
                                       {"exact, sigma 53", {}, 53},
                                       {"scalar of hubs", scalar, 0, 0, hubs_of_any_gain()},
                                       {"columns of hubs", columns, 0, 0, hubs_of_any_gain()},
                                       {"columns of staged hubs", columns, 0, 0, staged_hubs(50)},
                                       {"scalar of hubs and slots", scalar, 0, 0, hubs_and_slots(4000)},
                                       {"local columns of hubs", local_columns, 0, 0, hubs_of_any_gain()}};
  if (has_row_layout()) cases.insert(cases.begin() + 5, {"rows", rows});
  return cases;
}

/// A matrix on both sides, with a kernel. With `fp32_values` the host's values are those that the kernel keeps.
template <class T>
class MerbitOnGpu {
 public:
  MerbitOnGpu(Csr<T> matrix, const MerbitCudaCase& forced, Determinism determinism, bool fp32_values = false)
      : host_(std::move(matrix)), device_(host_.to(gpu())) {
    SpmvOptions options;
    options.algorithm = SpmvAlgorithm::merbit;
    options.device = gpu();
    options.determinism = determinism;
    options.sigma = forced.sigma;
    options.descriptor_bits = forced.descriptor_bits;
    options.fp32_values = fp32_values;
    cuda::MerbitTuning tuning;
    tuning.layout = forced.layout;
    tuning.hubs = forced.hubs;
    kernel_ = cuda::make_merbit_kernel<T>(device_.view(), options, tuning);
    if (fp32_values) round_host_values();
  }

  [[nodiscard]] static Device gpu() { return Device::cuda(0); }
  [[nodiscard]] const CsrView<T> view() const { return host_.view(); }
  [[nodiscard]] const SpmvKernel<T>& kernel() const { return *kernel_; }
  [[nodiscard]] SpmvKernel<T>& kernel() { return *kernel_; }
  [[nodiscard]] const cuda::InspectableMerbitKernel<T>& kernel_with_tiles() const { return *kernel_; }

  /// α A x + β y.
  [[nodiscard]] std::vector<T> apply(T alpha, std::span<const T> x, T beta, std::span<const T> y) const {
    const auto on_x = Array<T>::copy_of(x, gpu());
    auto on_y = Array<T>::copy_of(y, gpu());
    kernel_->apply(device_.view(), alpha, on_x.span(), beta, on_y.span());
    return fetch(on_y);
  }

  /// A x and its inner products, into a poisoned vector.
  [[nodiscard]] std::pair<std::vector<T>, ProductDots> apply_and_dot(std::span<const T> x, std::span<const T> w) const {
    const auto on_x = Array<T>::copy_of(x, gpu());
    const auto on_w = Array<T>::copy_of(w, gpu());
    auto on_y = poisoned();
    const ProductDots dots = kernel_->apply_and_dot(device_.view(), on_x.span(), on_y.span(), on_w.span());
    return {fetch(on_y), dots};
  }

  /// y must be fit for it; `other` is left so. The rows of `other` that are not shared are poisoned afterwards.
  [[nodiscard]] std::vector<T> apply_dual(std::span<const T> x, Array<T>& y, Array<T>& other) const {
    const auto on_x = Array<T>::copy_of(x, gpu());
    kernel_->apply_dual(device_.view(), on_x.span(), y.span(), other.span());
    return fetch(y);
  }

  [[nodiscard]] Array<T> poisoned() const {
    const std::vector<T> values(static_cast<std::size_t>(host_.rows()), std::numeric_limits<T>::quiet_NaN());
    return Array<T>::copy_of(values, gpu());
  }

  [[nodiscard]] static std::vector<T> fetch(const Array<T>& array) {
    const Array<T> on_host = array.to(Device{});
    return {on_host.begin(), on_host.end()};
  }

 private:
  void round_host_values() {
    Array<T> values = host_.values().to(Device{});
    for (T& value : values.span()) value = static_cast<T>(static_cast<float>(value));
    host_ = Csr<T>(host_.rows(), host_.cols(), host_.row_offsets().to(Device{}), host_.columns().to(Device{}),
                   std::move(values));
  }

  Csr<T> host_;
  Csr<T> device_;
  std::unique_ptr<cuda::InspectableMerbitKernel<T>> kernel_;
};

/// y = A x over NaN, α A x + β y, and the inner products, against the oracle.
template <class T>
[[nodiscard]] ::testing::AssertionResult products_match(const MerbitOnGpu<T>& a, std::uint64_t seed) {
  const auto x = random_vector<T>(a.view().cols, seed);
  const auto w = random_vector<T>(a.view().rows, seed + 1);
  const auto y = random_vector<T>(a.view().rows, seed + 2);
  const std::vector<T> poison(y.size(), std::numeric_limits<T>::quiet_NaN());
  const ProductOracle plain = product_oracle(a.view(), constant(x));
  const auto overwritten = a.apply(T{1}, x, T{0}, poison);
  if (auto result = near(plain, constant(overwritten)); !result) return result << " (y = A x)";
  const T alpha{-1.5};
  const T beta{0.75};
  const ProductOracle updated = multiply_oracle<T>(alpha, a.view(), x, beta, y);
  if (auto result = near(updated, constant(a.apply(alpha, x, beta, y))); !result) {
    return result << " (y = alpha A x + beta y)";
  }
  const auto [product, dots] = a.apply_and_dot(x, w);
  if (auto result = near(plain, constant(product)); !result) return result << " (with inner products)";
  return dots_match(dots, constant(product), constant(w));
}

/// Four products into two vectors in turn, against the oracle; every element that was not promised to be kept is
/// poisoned in between.
template <class T>
[[nodiscard]] ::testing::AssertionResult dual_products_match(const MerbitOnGpu<T>& a, std::uint64_t seed) {
  Array<T> y = a.poisoned();
  Array<T> other = a.poisoned();
  a.kernel().prepare_dual(y.span());
  for (std::uint64_t round = 0; round < 4; ++round) {
    const auto x = random_vector<T>(a.view().cols, seed + round);
    const auto product = a.apply_dual(x, y, other);
    if (auto result = near(product_oracle(a.view(), constant(x)), constant(product)); !result) {
      return result << " (dual, round " << round << ")";
    }
    std::swap(y, other);
    // What the next product may rely on: rows that it left zero. All others become NaN.
    std::vector<T> kept = a.fetch(y);
    if (round % 2 == 1) {
      for (T& value : kept) value = value == T{0} ? value : std::numeric_limits<T>::quiet_NaN();
    }
    y = Array<T>::copy_of(kept, a.gpu());
  }
  return ::testing::AssertionSuccess();
}

}  // namespace tessera::testing
