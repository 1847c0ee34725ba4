/// \file
/// Vector operations of the solvers, on the device where the vectors lie.
#pragma once

#include "solvers/passes/krylov_steps.hpp"
#include "solvers/passes/run.hpp"
#include "solvers/passes/vector_steps.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/linear_operator.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>

namespace tessera::vectors {

/// Whether a scalar converts to T without overflow; false for NaN.
template <class T>
[[nodiscard]] bool fits(double scalar) noexcept {
  return std::abs(scalar) <= static_cast<double>(std::numeric_limits<T>::max());
}

template <class T>
[[nodiscard]] std::int64_t length(std::span<T> x) noexcept {
  return static_cast<std::int64_t>(x.size());
}

/// max |x_i|, NaN if any element is.
template <class T>
[[nodiscard]] double largest_magnitude(const Device& device, std::span<const T> x) {
  return run_pass(device, length(x), passes::LargestMagnitude<T>{x.data()}).value;
}

/// <x, y>
template <class T>
[[nodiscard]] double dot(const Device& device, std::span<const T> x, std::span<const T> y) {
  return run_pass(device, length(x), passes::Dot<T>{x.data(), y.data()});
}

/// y += a x
template <class T>
void add_multiple(const Device& device, T a, std::span<const T> x, std::span<T> y) {
  run_pass(device, length(x), passes::AddMultiple<T>{a, x.data(), y.data()});
}

/// to = from
template <class T>
void copy(const Device& device, std::span<const T> from, std::span<T> to) {
  detail::copy_bytes(device, to.data(), device, from.data(), from.size_bytes());
}

template <class T>
void swap(const Device& device, std::span<T> x, std::span<T> y) {
  run_pass(device, length(x), passes::Swap<T>{x.data(), y.data()});
}

/// x = 0
template <class T>
void clear(const Device& device, std::span<T> x) {
  detail::zero_bytes(device, x.data(), x.size_bytes());
}

/// A copy on the host, to look at.
template <class T>
[[nodiscard]] Array<T> to_host(const Device& device, std::span<const T> x) {
  Array<T> result(length(x), Init::none);
  detail::copy_bytes(Device{}, result.data(), device, x.data(), x.size_bytes());
  return result;
}

/// Preconditioner that needs no pass of its own.
template <class T>
using FoldedEntry = std::variant<passes::IdentityEntry<T>, passes::DiagonalEntry<T>>;

/// How an operator folds into vector passes; `folds` is false for one that must be applied.
template <class T>
struct Folding {
  FoldedEntry<T> entry;
  bool folds = false;
  bool identity = false;

  explicit Folding(const LinearOperator<T>& m) {
    identity = m.is_identity();
    folds = identity;
    if (const auto diagonal = m.diagonal(); diagonal && !identity) {
      if (static_cast<std::int64_t>(diagonal->size()) != m.rows()) {
        throw DimensionError("the diagonal of an operator with " + std::to_string(m.rows()) + " rows has " +
                             std::to_string(diagonal->size()) + " entries");
      }
      entry = passes::DiagonalEntry<T>{diagonal->data()};
      folds = true;
    }
  }
};

}  // namespace tessera::vectors
