#include "solvers/rank_vector.hpp"

#include <utility>

namespace tessera::host {

template <class T>
RankVector<T>::RankVector(std::span<const T> out_inverse, Array<T> teleport, const Device& device)
    : device_(device),
      out_inverse_(out_inverse),
      teleport_(std::move(teleport)),
      ranks_(static_cast<std::int64_t>(out_inverse.size()), Init::none, device),
      source_(ranks_.size(), Init::none, device) {
  const double uniform = 1.0 / static_cast<double>(out_inverse.size());
  sums_ = fused_sum<RankSums>(device_, out_inverse.size(),
                              [=, v = std::as_const(teleport_).span(), x = ranks_.span(), y = source_.span(),
                               w = out_inverse_](std::size_t i, RankSums& sums) {
                                x[i] = v.empty() ? static_cast<T>(uniform) : v[i];
                                y[i] = x[i] * w[i];
                                sums.total.add(static_cast<double>(x[i]));
                                sums.dangling.add(w[i] == T{0} ? static_cast<double>(x[i]) : 0.0);
                              });
}

/// With s = Σ x, m the mass of dangling vertices divided by s, and n vertices.
template <class T>
typename RankVector<T>::Weights RankVector<T>::weights(double damping, Dangling policy) const {
  const double s = sums_.total.value();
  const double m = sums_.dangling.value() / s;
  const auto n = static_cast<double>(ranks_.size());
  Weights result{damping / s, 1.0 - damping, 0.0, 0.0};
  switch (policy) {
    case Dangling::teleport:
      result.teleport += damping * m;
      break;
    case Dangling::uniform:
      result.constant = damping * m / n;
      break;
    case Dangling::self:
      result.self = damping / s;
      break;
    case Dangling::drop: {
      const double kept = damping * (1.0 - m) + (1.0 - damping);
      result.links /= kept;
      result.teleport /= kept;
      break;
    }
  }
  if (!teleport_.empty()) return result;
  result.constant += result.teleport / n;
  result.teleport = 0.0;
  return result;
}

template <class T>
void RankVector<T>::step(std::span<const T> product, double damping, Dangling policy) {
  // v is read only where it is not uniform; any vector may stand in for it where its weight is 0.
  const std::span<const T> v = teleport_.empty() ? out_inverse_ : std::as_const(teleport_).span();
  sums_ = fused_sum<RankSums>(device_, product.size(),
                              [=, weight = weights(damping, policy), x = ranks_.span(), y = source_.span(),
                               w = out_inverse_](std::size_t i, RankSums& sums) {
                                const auto old = static_cast<double>(x[i]);
                                const double self = w[i] == T{0} ? weight.self * old : 0.0;
                                const double rank = weight.links * static_cast<double>(product[i]) +
                                                    weight.teleport * static_cast<double>(v[i]) + weight.constant +
                                                    self;
                                x[i] = static_cast<T>(rank);
                                const auto kept = static_cast<double>(x[i]);
                                y[i] = x[i] * w[i];
                                sums.total.add(kept);
                                sums.dangling.add(w[i] == T{0} ? kept : 0.0);
                                const double difference = std::abs(kept - old);
                                sums.l1 += difference;
                                sums.squares += difference * difference;
                                sums.largest += Largest{difference};
                              });
}

template <class T>
double RankVector<T>::normalise() {
  const double scale = 1.0 / sums_.total.value();
  const auto sum = fused_sum<CompensatedSum>(device_, static_cast<std::size_t>(ranks_.size()),
                                             [=, x = ranks_.span()](std::size_t i, CompensatedSum& total) {
                                               x[i] = static_cast<T>(static_cast<double>(x[i]) * scale);
                                               total.add(static_cast<double>(x[i]));
                                             });
  return sum.value();
}

template class RankVector<float>;
template class RankVector<double>;

}  // namespace tessera::host
