#include "solvers/rank_vector.hpp"

#include "solvers/passes/run.hpp"

#include <utility>

namespace tessera {

template <class T>
RankVector<T>::RankVector(std::span<const T> out_inverse, Array<T> teleport, const Device& device)
    : device_(device),
      out_inverse_(out_inverse),
      teleport_(std::move(teleport)),
      ranks_(static_cast<std::int64_t>(out_inverse.size()), Init::none, device),
      source_(ranks_.size(), Init::none, device) {
  const double uniform = 1.0 / static_cast<double>(out_inverse.size());
  const T* const teleport_or_null = teleport_.empty() ? nullptr : teleport_.data();
  sums_ =
      run_pass(device_, ranks_.size(),
               passes::PagerankStart<T>{uniform, teleport_or_null, out_inverse_.data(), ranks_.data(), source_.data()});
}

template <class T>
void RankVector<T>::step(std::span<const T> product, const detail::RankWeights& weights) {
  // v is read only where it is not uniform; any vector may stand in for it where its weight is 0.
  const T* const v = teleport_.empty() ? out_inverse_.data() : teleport_.data();
  sums_ = run_pass(
      device_, ranks_.size(),
      passes::PagerankUpdate<T>{weights, product.data(), v, out_inverse_.data(), ranks_.data(), source_.data()});
}

template <class T>
double RankVector<T>::normalise() {
  const double scale = 1.0 / sums_.total.value();
  return run_pass(device_, ranks_.size(), passes::PagerankScale<T>{scale, ranks_.data()}).value();
}

template class RankVector<float>;
template class RankVector<double>;

}  // namespace tessera
