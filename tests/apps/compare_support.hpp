/// \file
/// Kernels that are wrong in a known way, and settings for comparisons within a test.
#pragma once

#include "compare/candidate.hpp"
#include "compare/compare_settings.hpp"
#include "problem.hpp"

#include "tessera/csr.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/spmv.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Does something to the right product y = A x; `call` counts from 1 within one set-up.
template <class T>
using Spoil = std::function<void(int call, std::span<const T> x, std::span<T> y)>;

/// The csr kernel, whose results are spoilt.
template <class T>
class SpoiltOperator final : public LinearOperator<T> {
 public:
  SpoiltOperator(const std::shared_ptr<const Csr<T>>& matrix, Spoil<T> spoil)
      : right_(matrix, csr_options()), spoil_(std::move(spoil)) {}

  [[nodiscard]] std::int64_t rows() const override { return right_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return right_.cols(); }
  [[nodiscard]] static SpmvOptions csr_options() {
    SpmvOptions options;
    options.algorithm = SpmvAlgorithm::csr;
    return options;
  }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    right_.apply(alpha, x, beta, y);
    spoil_(++calls_, x, y);
  }

 private:
  SpmvPlan<T> right_;
  Spoil<T> spoil_;
  mutable int calls_ = 0;
};

template <class T>
[[nodiscard]] cli::Candidate<T> spoilt_candidate(std::string name, Spoil<T> spoil,
                                                 Determinism promised = Determinism::gpu_to_gpu) {
  return {std::move(name), SpoiltOperator<T>::csr_options(),
          [spoil = std::move(spoil), promised](const std::shared_ptr<const Csr<T>>& matrix) {
            PlanInfo info;
            info.determinism = promised;
            return cli::PlannedKernel<T>{std::make_unique<SpoiltOperator<T>>(matrix, spoil), info};
          }};
}

[[nodiscard]] inline cli::Problem<double> problem_of(const std::shared_ptr<const Csr<double>>& matrix) {
  cli::Problem<double> problem;
  problem.matrix = matrix;
  problem.name = "test";
  return problem;
}

/// Few rounds of everything.
[[nodiscard]] inline cli::CompareSettings quick_settings() {
  cli::CompareSettings settings;
  settings.kernels = "all";
  settings.timing.rounds = 3;
  settings.timing.min_seconds = 0.0;
  settings.rhs.kind = cli::VectorSettings::Kind::a_ones;
  settings.output.quiet = true;
  return settings;
}

}  // namespace tessera::testing
