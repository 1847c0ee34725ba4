/// Copies of a system for the rungs of the ladder.
#include "solvers/ladder/systems.hpp"

#include "core/borrowed_csr.hpp"
#include "solvers/fused/vector_ops.hpp"

#include <utility>

namespace tessera::detail {

namespace {

template <class T>
[[nodiscard]] Array<T> copied(const Device& from, std::span<const T> values, const Device& to) {
  Array<T> result(fused::length(values), Init::none, to);
  copy_bytes(to, result.data(), from, values.data(), values.size_bytes());
  return result;
}

/// -v
template <class T>
[[nodiscard]] Array<T> negated(const Device& device, std::span<const T> v) {
  Array<T> result(fused::length(v), Init::zero, device);
  fused::axpy<T>(device, T{-1}, v, result.span());
  return result;
}

}  // namespace

template <class T>
const SpmvPlan<T>& LadderSystems<T>::plan(const Side& side) {
  return is_original(side) ? a_ : *made(side).plan;
}

template <class T>
std::span<const T> LadderSystems<T>::b(const Side& side) {
  return is_original(side) ? b_ : std::span<const T>(made(side).b.span());
}

template <class T>
typename LadderSystems<T>::Copy& LadderSystems<T>::made(const Side& side) {
  auto& copy = copies_[(side.on_host ? 1U : 0U) + (side.negated ? 2U : 0U)];
  if (!copy) copy = make(side);
  return *copy;
}

template <class T>
typename LadderSystems<T>::Copy LadderSystems<T>::make(const Side& side) {
  const Device to = device(side);
  Copy copy;
  if (!side.negated) {
    copy.plan.emplace(borrow_csr(a_.matrix(), a_.matrix_device()).to(to));
    copy.b = copied(a_.device(), b_, to);
    return copy;
  }
  const Side plain{side.on_host, false};
  const SpmvPlan<T>& original = plan(plain);
  const CsrView<T> matrix = original.matrix();
  const Device place = original.matrix_device();
  SpmvOptions options;
  options.device = to;
  if (!(place == to)) options.algorithm = SpmvAlgorithm::streamed;
  copy.plan.emplace(borrow_csr(matrix, place).with_values(negated(place, matrix.values)), options);
  copy.b = negated(to, b(plain));
  return copy;
}

template class LadderSystems<float>;
template class LadderSystems<double>;

}  // namespace tessera::detail
