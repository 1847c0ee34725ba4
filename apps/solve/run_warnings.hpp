/// \file
/// Warnings of a solve, and of a product of matrices.
#pragma once

#include "outcome.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera::cli {

/// W008, when an option was typed that the method chosen by auto does not use.
void warn_about_unused(const RunSettings& settings, Method method, Warnings& warnings);

/// W031, when slices of the matrix cross the bus for every product.
void warn_about_streaming(const CommonOutcome& outcome, Warnings& warnings);

/// All that follow from what a finished solve found: W001 to W006, W009 to W018, W025, W031.
void warn_about_run(const RunOutcome& outcome, Warnings& warnings);

/// Values of the product of finite factors that overflowed, over its slices in their order.
template <class T>
struct OverflowCount {
  std::int64_t values = 0;
  std::int64_t row = 0;  ///< of the first, from 1; likewise its column
  std::int64_t column = 0;
  T first{};

  /// \param first_row number of the slice's first row
  void add(const CsrView<T>& slice, index_t first_row);
  /// W026, when there are any.
  void warn(Warnings& warnings) const;
};

}  // namespace tessera::cli
