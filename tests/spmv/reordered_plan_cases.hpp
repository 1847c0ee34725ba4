/// \file
/// Products of a ReorderedPlan against sums in long double, on the host and on a GPU.
#pragma once

#include "tessera/reordered_plan.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tessera::testing {

inline constexpr Ordering plan_orderings[] = {Ordering::natural, Ordering::rcm, Ordering::amd, Ordering::degree};

template <class T>
[[nodiscard]] std::vector<T> on_host(const Array<T>& array) {
  const Array<T> here = array.to(Device{});
  return {here.begin(), here.end()};
}

template <class T>
void expect_near(const ProductOracle& oracle, const std::vector<T>& y) {
  ASSERT_EQ(oracle.y.size(), y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_LE(std::fabs(oracle.y[i] - static_cast<long double>(y[i])), oracle.bound[i]) << "row " << i;
  }
}

/// y = α A x + β y, and y = A x into NaN. \param a on the host
template <class T>
void check_products(const ReorderedPlan<T>& plan, const CsrView<T>& a) {
  const std::vector<T> x = random_vector<T>(a.cols, 3);
  const std::vector<T> y0 = random_vector<T>(a.rows, 5);
  const Array<T> from = Array<T>::copy_of(x, plan.device());
  Array<T> to = Array<T>::copy_of(y0, plan.device());
  plan.apply(T{2}, from.span(), T{-3}, to.span());
  expect_near(multiply_oracle<T>(T{2}, a, x, T{-3}, y0), on_host(to));
  const std::vector<T> nans(y0.size(), std::numeric_limits<T>::quiet_NaN());
  to = Array<T>::copy_of(nans, plan.device());
  plan.apply(from.span(), to.span());
  expect_near(multiply_oracle<T>(T{1}, a, x, T{0}, y0), on_host(to));
}

/// Square matrices of many kinds. \param device of the plans
template <class T>
void check_all_products(const Device& device, ValueStorage storage, std::span<const Ordering> orderings) {
  for (const auto& [name, matrix] : adversarial_matrices<T>(storage, {})) {
    if (matrix.rows() != matrix.cols()) continue;
    for (const Ordering kind : orderings) {
      SCOPED_TRACE(name + ", " + std::string(to_string(kind)));
      check_products(ReorderedPlan<T>(matrix, kind, {.device = device}), matrix.view());
    }
  }
  const auto power = with_row_lengths<T>(power_law_lengths(500, 450, 5), 500, storage);
  const Csr<T> there = power.to(device);
  for (const Ordering kind : orderings) {
    SCOPED_TRACE(to_string(kind));
    check_products(ReorderedPlan<T>(power, kind, {.device = device}), power.view());
    check_products(ReorderedPlan<T>(there.view(), device, kind, {.device = device}), power.view());
  }
}

}  // namespace tessera::testing
