/// \file
/// Products of a batch against sums in long double of each part alone, on the host and on a GPU.
#pragma once

#include "tessera/error.hpp"
#include "tessera/spmv_batch.hpp"
#include "tests/preprocess/block_diagonal_cases.hpp"
#include "tests/support/oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

template <class T>
[[nodiscard]] std::vector<T> fetched(const Array<T>& array) {
  const Array<T> here = array.to(Device{});
  return {here.begin(), here.end()};
}

/// The parts, which a batch takes from where they lie.
template <class T>
[[nodiscard]] std::vector<Csr<T>> copies_on(const std::vector<Csr<T>>& parts, const Device& device) {
  std::vector<Csr<T>> copies;
  copies.reserve(parts.size());
  for (const Csr<T>& part : parts) copies.push_back(part.to(device));
  return copies;
}

template <class T>
void expect_within(const ProductOracle& oracle, std::span<const T> y) {
  ASSERT_EQ(oracle.y.size(), y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_LE(std::fabs(oracle.y[i] - static_cast<long double>(y[i])), oracle.bound[i]) << "row " << i;
  }
}

/// y_p = 2 A_p x_p - 3 y_p, and y_p = A_p x_p into NaN. \param parts on the host
template <class T>
void check_products(const SpmvBatch<T>& batch, const std::vector<Csr<T>>& parts) {
  ASSERT_EQ(batch.size(), std::ssize(parts));
  const Device device = batch.plan().device();
  const std::vector<T> x = random_vector<T>(batch.plan().cols(), 3);
  const std::vector<T> y0 = random_vector<T>(batch.plan().rows(), 5);
  const Array<T> from = Array<T>::copy_of(x, device);
  for (const bool overwrites : {false, true}) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    Array<T> to = Array<T>::copy_of(overwrites ? std::vector<T>(y0.size(), nan) : y0, device);
    overwrites ? batch.apply(from.span(), to.span()) : batch.apply(T{2}, from.span(), T{-3}, to.span());
    const std::vector<T> y = fetched(to);
    for (std::int64_t p = 0; p < batch.size(); ++p) {
      SCOPED_TRACE("part " + std::to_string(p));
      const CsrView<T> part = parts[static_cast<std::size_t>(p)].view();
      expect_within(multiply_oracle<T>(overwrites ? T{1} : T{2}, part, batch.x_of(p, std::span(x)),
                                       overwrites ? T{0} : T{-3}, batch.y_of(p, std::span(y0))),
                    batch.y_of(p, std::span(y)));
    }
  }
}

/// The batch by a kernel; nothing where that refuses the matrix, as `patterns` may.
template <class T>
[[nodiscard]] std::optional<SpmvBatch<T>> batch_by(SpmvAlgorithm algorithm, const std::vector<Csr<T>>& parts,
                                                   const Device& device) {
  try {
    return SpmvBatch<T>(copies_on(parts, device), {.algorithm = algorithm, .device = device});
  } catch (const NotSupported&) {
    return std::nullopt;
  }
}

/// `auto` and kernels by name on all sets of parts.
template <class T>
void check_all_products(const Device& device, std::span<const SpmvAlgorithm> kernels, ValueStorage storage,
                        bool small) {
  for (const auto& [name, parts] : sets_of_parts<T>(storage, small)) {
    SCOPED_TRACE(name);
    check_products(SpmvBatch<T>(copies_on(parts, device), {.device = device}), parts);
    if (parts.size() > 9) continue;  // the kernels have tests of their own on large matrices
    for (const SpmvAlgorithm algorithm : kernels) {
      SCOPED_TRACE(to_string(algorithm));
      const auto batch = batch_by(algorithm, parts, device);
      if (batch) {
        check_products(*batch, parts);
      } else {
        EXPECT_TRUE(algorithm == SpmvAlgorithm::patterns || algorithm == SpmvAlgorithm::sell);
      }
    }
  }
}

/// Square parts of one structure, whose rows have 30 lists of relative columns.
template <class T>
[[nodiscard]] std::vector<Csr<T>> equal_structures(std::size_t count) {
  std::vector<Csr<T>> parts;
  for (std::size_t p = 0; p < count; ++p) {
    const auto structure = with_row_lengths<T>(lengths_of(30, 4), 30, ValueStorage::pattern);
    parts.push_back(structure.with_values(Array<T>::copy_of(random_vector<T>(structure.nnz(), p + 1))));
  }
  return parts;
}

/// NaN and infinity in the values of part 2 and in the x of part 5 stay there.
template <class T>
void check_that_nothing_leaks(const Device& device, std::span<const SpmvAlgorithm> kernels) {
  std::vector<Csr<T>> parts = equal_structures<T>(9);
  std::vector<T> bad(parts[2].values().begin(), parts[2].values().end());
  for (std::size_t k = 0; k < bad.size(); ++k) {
    bad[k] = k % 2 == 0 ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
  }
  parts[2] = parts[2].with_values(Array<T>::copy_of(bad));
  std::vector<T> x = random_vector<T>(30 * 9, 3);
  for (std::size_t j = 150; j < 180; ++j) x[j] = std::numeric_limits<T>::quiet_NaN();
  const Array<T> from = Array<T>::copy_of(x, device);
  for (const SpmvAlgorithm algorithm : kernels) {
    SCOPED_TRACE(to_string(algorithm));
    const SpmvBatch<T> batch(copies_on(parts, device), {.algorithm = algorithm, .device = device});
    Array<T> to(batch.plan().rows(), Init::none, device);
    batch.apply(from.span(), to.span());
    const std::vector<T> y = fetched(to);
    for (std::int64_t p = 0; p < batch.size(); ++p) {
      SCOPED_TRACE("part " + std::to_string(p));
      const std::span<const T> own = batch.y_of(p, std::span(y));
      if (p == 2 || p == 5) {
        for (const T value : own) EXPECT_FALSE(std::isfinite(value));
      } else {
        expect_within(multiply_oracle<T>(T{1}, parts[static_cast<std::size_t>(p)].view(),
                                         batch.x_of(p, std::span(std::as_const(x))), T{0}, own),
                      own);
      }
    }
  }
}

/// New values of all parts, of one alone, and of matrices of these structures, by a kernel. \param there where the new
/// values lie
template <class T>
void check_new_values(const SpmvOptions& options, const Device& there) {
  std::vector<Csr<T>> parts = equal_structures<T>(5);
  const std::vector<CsrView<T>> views(5, parts.front().view());
  SpmvBatch<T> batch(views, Device{}, options);
  const offset_t entries = parts.front().nnz();
  const auto set = [&](std::size_t p, std::span<const T> values) {
    parts[p] = parts[p].with_values(Array<T>::copy_of(values));
  };
  const std::vector<T> all = random_vector<T>(5 * entries, 90);
  batch.update_values(Array<T>::copy_of(all, there).span());
  for (std::size_t p = 0; p < 5; ++p) {
    set(p, std::span(all).subspan(p * static_cast<std::size_t>(entries), static_cast<std::size_t>(entries)));
  }
  check_products(batch, parts);
  for (const std::size_t p : {3U, 0U, 4U}) {
    const std::vector<T> own = random_vector<T>(entries, 91 + p);
    batch.update_values(static_cast<std::int64_t>(p), Array<T>::copy_of(own, there).span());
    set(p, own);
    check_products(batch, parts);
  }
  for (std::size_t p = 0; p < 5; ++p) set(p, random_vector<T>(entries, 95 + p));
  batch.update_values(copies_on(parts, there));
  check_products(batch, parts);
}

}  // namespace tessera::testing
