/// \file
/// Products of plans on a GPU, with vectors on the host.
#pragma once

#include "spmv/plan_internals.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/cuda_kernels.hpp"
#include "tests/support/cuda_test.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

using namespace detail;

/// A kernel of a GPU as a user may ask for it.
struct CudaCase {
  SpmvAlgorithm algorithm;
  Determinism determinism = Determinism::not_guaranteed;
  bool fp32_values = false;

  [[nodiscard]] std::string name() const {
    return std::string(to_string(algorithm)) + " " + std::string(to_string(determinism)) +
           (fp32_values ? " fp32 values" : "");
  }
  [[nodiscard]] SpmvOptions options(const Device& gpu) const {
    SpmvOptions result;
    result.device = gpu;
    result.algorithm = algorithm;
    result.determinism = determinism;
    result.fp32_values = fp32_values;
    return result;
  }
};

/// Every kernel that can run, with the weakest class and, for MERBIT, where that is another commit, the strongest.
template <class T>
[[nodiscard]] std::vector<CudaCase> cuda_cases(const Device& gpu, ValueStorage storage = ValueStorage::weighted) {
  std::vector<CudaCase> cases;
  for (const SpmvAlgorithm algorithm : cuda_algorithms(gpu)) {
    cases.push_back({algorithm});
    if (algorithm == SpmvAlgorithm::merbit) cases.push_back({algorithm, Determinism::run_to_run});
  }
  if (sizeof(T) == 8 && storage == ValueStorage::weighted) {
    const std::vector<CudaCase> in_double = cases;
    for (CudaCase kernel : in_double) {
      kernel.fp32_values = true;
      cases.push_back(kernel);
    }
  }
  return cases;
}

/// A plan on a GPU and the same matrix, rounded as the plan rounds it, on the host.
template <class T>
class CudaProduct {
 public:
  CudaProduct(const Csr<T>& matrix, const SpmvOptions& options)
      : plan_(Csr<T>::copy_of(matrix.view()), options), on_host_(Csr<T>::copy_of(matrix.view())) {
    set_values(matrix.values().span(), options.fp32_values);
  }

  [[nodiscard]] SpmvPlan<T>& plan() { return plan_; }
  [[nodiscard]] const SpmvPlan<T>& plan() const { return plan_; }
  /// What the plan multiplies with.
  [[nodiscard]] CsrView<T> matrix() const {
    CsrView<T> view = on_host_.view();
    if (!view.is_pattern()) view.values = values_;
    return view;
  }

  void update_values(std::span<const T> values, bool fp32_values) {
    plan_.update_values(values);
    set_values(values, fp32_values);
  }

  [[nodiscard]] std::vector<T> apply(T alpha, const std::vector<T>& x, T beta, const std::vector<T>& y) const {
    const auto source = Array<T>::copy_of(x, plan_.device());
    auto target = Array<T>::copy_of(y, plan_.device());
    plan_.apply(alpha, source.span(), beta, target.span());
    return download(std::as_const(target).span());
  }

  /// y = A x into memory that held NaN.
  [[nodiscard]] std::vector<T> apply(const std::vector<T>& x) const { return apply(T{1}, x, T{0}, poison()); }

  [[nodiscard]] std::pair<std::vector<T>, ProductDots> apply_and_dot(const std::vector<T>& x,
                                                                     const std::vector<T>& w) const {
    const auto source = Array<T>::copy_of(x, plan_.device());
    const auto weights = Array<T>::copy_of(w, plan_.device());
    auto target = Array<T>::copy_of(poison(), plan_.device());
    const ProductDots dots = plan_.apply_and_dot(source.span(), target.span(), weights.span());
    return {download(std::as_const(target).span()), dots};
  }

  [[nodiscard]] std::vector<T> download(std::span<const T> vector) const {
    std::vector<T> result(vector.size());
    detail::copy_bytes(Device{}, result.data(), plan_.device(), vector.data(), vector.size_bytes());
    return result;
  }

  [[nodiscard]] std::vector<T> poison() const {
    return std::vector<T>(static_cast<std::size_t>(plan_.rows()), std::numeric_limits<T>::quiet_NaN());
  }

 private:
  void set_values(std::span<const T> values, bool fp32_values) {
    values_.assign(values.begin(), values.end());
    if (!fp32_values) return;
    for (T& value : values_) value = static_cast<T>(static_cast<float>(value));
  }

  SpmvPlan<T> plan_;
  Csr<T> on_host_;
  std::vector<T> values_;
};

/// The reason of a plan, with what new values have made of it.
template <class T>
[[nodiscard]] std::string reason_now(const CudaProduct<T>& product) {
  PlanInfo now;
  PlanInternals::kernel(product.plan()).describe(now);
  return now.reason;
}

/// Whether values by row patterns lie in a symmetric half.
template <class T>
[[nodiscard]] bool says_half(const CudaProduct<T>& product) {
  return reason_now(product).find("values as a symmetric half") != std::string::npos;
}

/// All forms of product against the oracle.
template <class T>
void check_all_products(const CudaProduct<T>& product) {
  constexpr std::pair<double, double> all_factors[] = {{1, 0}, {-0.5, 3}, {0, 2}, {2, 0}, {1, 1}, {0, 0}};
  const auto factors = std::span(all_factors).first(static_cast<std::size_t>(repetitions(6, 3)));
  const SpmvPlan<T>& plan = product.plan();
  const auto x = random_vector<T>(plan.cols(), 3);
  for (const auto& [a, b] : factors) {
    const auto alpha = static_cast<T>(a);
    const auto beta = static_cast<T>(b);
    const auto y = beta == T{0} ? product.poison() : random_vector<T>(plan.rows(), 4);
    const auto oracle = multiply_oracle<T>(alpha, product.matrix(), x, beta, y);
    ASSERT_TRUE(near(oracle, constant(product.apply(alpha, x, beta, y)))) << "alpha " << alpha << ", beta " << beta;
  }
  const auto w = random_vector<T>(plan.rows(), 6);
  const auto oracle = product_oracle(product.matrix(), constant(x));
  const auto [y, dots] = product.apply_and_dot(x, w);
  ASSERT_TRUE(near(oracle, constant(y)));
  ASSERT_TRUE(dots_match(dots, constant(y), constant(w)));
}

/// The buffer of the plan, several times in turn.
template <class T>
void check_buffered_products(const CudaProduct<T>& product) {
  const SpmvPlan<T>& plan = product.plan();
  const auto w = random_vector<T>(plan.rows(), 6);
  const auto weights = Array<T>::copy_of(w, plan.device());
  DualBuffer<T> buffer = plan.make_output();
  for (std::uint64_t round = 0; round < static_cast<std::uint64_t>(repetitions(3, 2)); ++round) {
    const auto x = random_vector<T>(plan.cols(), round);
    const auto source = Array<T>::copy_of(x, plan.device());
    const auto oracle = product_oracle(product.matrix(), constant(x));
    plan.apply(source.span(), buffer);
    ASSERT_TRUE(near(oracle, constant(product.download(std::as_const(buffer).current()))));
    const ProductDots dots = plan.apply_and_dot(source.span(), buffer, weights.span());
    const std::vector<T> y = product.download(std::as_const(buffer).current());
    ASSERT_TRUE(near(oracle, constant(y)));
    ASSERT_TRUE(dots_match(dots, constant(y), constant(w)));
  }
}

}  // namespace tessera::testing
