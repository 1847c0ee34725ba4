/// Sparse products planned once: structure of C and workspaces, then values alone.
#include "core/exclusive_calls.hpp"
#include "spgemm/common/backends.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {

template <class T>
struct SpgemmPlan<T>::Impl {
  std::unique_ptr<detail::ProductPlan<T>> plan;
  detail::ExclusiveCalls calls;

  void multiply_into(const Csr<T>* a, const Csr<T>* b, std::span<T> values) {
    const auto scope = calls.enter("SpgemmPlan");
    plan->multiply_into(a, b, values);
  }

  [[nodiscard]] Csr<T> multiply(const Csr<T>* a, const Csr<T>* b) {
    const Csr<T>& structure = plan->structure();
    Array<T> values(structure.nnz(), Init::none, plan->device());
    multiply_into(a, b, values.span());
    return structure.with_values(std::move(values));
  }
};

namespace {

template <class T>
std::shared_ptr<const Csr<T>> required(std::shared_ptr<const Csr<T>> matrix) {
  if (!matrix) throw InvalidArgument("SpgemmPlan needs two matrices, got a null pointer");
  return matrix;
}

}  // namespace

template <class T>
SpgemmPlan<T>::SpgemmPlan(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b,
                          const SpgemmOptions& options) {
  a = required(std::move(a));
  b = required(std::move(b));
  detail::check_product(*a, *b, options);
  if (options.precision != SpgemmPrecision::working) {
    throw NotSupported(fmt::format("a plan counts every row and sums in working precision, not in '{}': spgemm() does",
                                   to_string(options.precision)));
  }
  impl_ = std::make_unique<Impl>();
  impl_->plan = options.device.is_host() ? host::make_product_plan<T>(std::move(a), std::move(b), options)
                                         : cuda::make_product_plan<T>(std::move(a), std::move(b), options);
}

template <class T>
SpgemmPlan<T>::SpgemmPlan(Csr<T> a, Csr<T> b, const SpgemmOptions& options)
    : SpgemmPlan(std::make_shared<const Csr<T>>(std::move(a)), std::make_shared<const Csr<T>>(std::move(b)), options) {}

template <class T>
SpgemmPlan<T>::~SpgemmPlan() = default;
template <class T>
SpgemmPlan<T>::SpgemmPlan(SpgemmPlan&&) noexcept = default;
template <class T>
SpgemmPlan<T>& SpgemmPlan<T>::operator=(SpgemmPlan&&) noexcept = default;

template <class T>
const Csr<T>& SpgemmPlan<T>::structure() const noexcept {
  return impl_->plan->structure();
}

template <class T>
const SpgemmReport& SpgemmPlan<T>::report() const noexcept {
  return impl_->plan->report();
}

template <class T>
std::uint64_t SpgemmPlan<T>::bytes() const noexcept {
  return impl_->plan->bytes();
}

template <class T>
Csr<T> SpgemmPlan<T>::multiply() {
  return impl_->multiply(nullptr, nullptr);
}

template <class T>
Csr<T> SpgemmPlan<T>::multiply(const Csr<T>& a, const Csr<T>& b) {
  return impl_->multiply(&a, &b);
}

template <class T>
void SpgemmPlan<T>::multiply_into(const Csr<T>& a, const Csr<T>& b, std::span<T> values) {
  const offset_t nnz = structure().nnz();
  if (static_cast<offset_t>(values.size()) != nnz) {
    throw DimensionError(fmt::format("the planned product has {} entries, got room for {} values", nnz, values.size()));
  }
  impl_->multiply_into(&a, &b, values);
}

template class SpgemmPlan<float>;
template class SpgemmPlan<double>;

}  // namespace tessera
