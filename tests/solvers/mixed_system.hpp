/// \file
/// A system in both precisions, for the tests of mixed precision on any device.
#pragma once

#include "tessera/mixed_precision.hpp"
#include "tests/solvers/systems.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::testing {

struct MixedSystem {
  Csr<double> matrix;
  SingleMatrix single;
  SpmvPlan<double> plan;
  SpmvPlan<float> single_plan;
  std::vector<double> b;

  explicit MixedSystem(Csr<double> a, const SpmvOptions& options = {})
      : matrix(std::move(a)),
        single(single_matrix(matrix)),
        plan(Csr<double>::copy_of(matrix.view()), options),
        single_plan(Csr<float>::copy_of(single.matrix.view()), options),
        b(static_cast<std::size_t>(matrix.rows())) {
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(0.37 * static_cast<double>(i + 1));
  }
};

}  // namespace tessera::testing
