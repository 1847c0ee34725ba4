/// \file
/// Pairs of matrices on which the accumulators of a GPU are tested.
#pragma once

#include "tessera/statistics.hpp"
#include "tests/spgemm/accumulator_cuda_check.hpp"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Calls body(a, b) for the adversarial matrices times their transposes and each other. An emulated GPU gets the
/// smaller ones of them, and each matrix meets one of `emulated_stride` others.
template <class T, class Body>
void for_each_adversarial_pair(ValueStorage storage, int emulated_stride, Body&& body) {
  const auto most_products = static_cast<offset_t>(repetitions(600'000, 20'000));
  const auto most_rows = static_cast<std::int64_t>(repetitions(100'000, 100'000 / emulated_stride));
  const auto forward_pair = [&](const std::string& name, const Csr<T>& a, const Csr<T>& b) {
    if (a.cols() != b.rows() || a.rows() > most_rows) return;
    if (count_products(a.view(), b.view()) > most_products) return;
    SCOPED_TRACE(name);
    body(a, b);
  };
  const auto matrices = adversarial_matrices<T>(storage, {64, 512});
  const auto stride = static_cast<std::size_t>(repetitions(1, emulated_stride));
  for (std::size_t i = 0; i < matrices.size() && !::testing::Test::HasFailure(); ++i) {
    const auto& [name, matrix] = matrices[i];
    const Csr<T> transposed = transpose(matrix.view());
    forward_pair(name + " times its transpose", matrix, transposed);
    forward_pair(name + ", transpose times itself", transposed, matrix);
    for (std::size_t j = i % stride; j < matrices.size(); j += stride) {
      forward_pair(name + " times " + matrices[j].name, matrix, matrices[j].matrix);
    }
  }
}

/// Rows of A with `a_row_nnz` entries each, and as many rows of B as A has columns.
struct PairShape {
  index_t rows = 0;
  index_t a_row_nnz = 0;
  index_t inner = 0;
  std::vector<index_t> b_row_lengths;  ///< taken in turn by the rows of B
  index_t cols = 0;
};

template <class T>
[[nodiscard]] std::pair<Csr<T>, Csr<T>> make_pair_of(const PairShape& shape,
                                                     ValueStorage a_storage = ValueStorage::weighted,
                                                     ValueStorage b_storage = ValueStorage::weighted) {
  std::vector<index_t> lengths(static_cast<std::size_t>(shape.inner));
  for (std::size_t k = 0; k < lengths.size(); ++k) lengths[k] = shape.b_row_lengths[k % shape.b_row_lengths.size()];
  const auto rows = lengths_of(static_cast<std::size_t>(shape.rows), shape.a_row_nnz);
  return {with_row_lengths<T>(rows, shape.inner, a_storage, 11),
          with_row_lengths<T>(lengths, shape.cols, b_storage, 12)};
}

/// The same positions with values on which arithmetic goes wrong: zeros of both signs, infinities, no numbers, the
/// smallest and the largest, and numbers that cancel.
template <class T>
[[nodiscard]] Csr<T> with_strange_values(const Csr<T>& matrix, std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  const std::array<T, 12> strange{T(-0.0),
                                  T(0),
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN(),
                                  Limits::max(),
                                  -Limits::max(),
                                  Limits::denorm_min(),
                                  T(1),
                                  T(-1),
                                  T(1) / 3,
                                  T(-1) / 3};
  std::mt19937_64 generator(seed);
  std::vector<T> values(static_cast<std::size_t>(matrix.nnz()));
  // Mostly harmless, or every sum would be no number.
  for (T& value : values) {
    const std::uint64_t draw = generator() % 64;
    value = strange[draw < strange.size() ? draw : draw % 2 == 0 ? 8 + draw / 2 % 4 : draw % 4 / 2];
  }
  return Csr<T>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                Array<T>::copy_of(values));
}

}  // namespace tessera::testing
