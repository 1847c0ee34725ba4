/// \file
/// Kernels that are wrong in a known way, and settings for comparisons within a test.
#pragma once

#include "compare/comparison.hpp"

#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
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
class SpoiltOperator final : public FusedOperator<T> {
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
[[nodiscard]] compare::Candidate<T> spoilt_candidate(std::string name, Spoil<T> spoil,
                                                     Determinism promised = Determinism::gpu_to_gpu) {
  return {std::move(name), SpoiltOperator<T>::csr_options(),
          [spoil = std::move(spoil), promised](const std::shared_ptr<const Csr<T>>& matrix) {
            PlanInfo info;
            info.determinism = promised;
            return compare::PlannedKernel<T>{std::make_unique<SpoiltOperator<T>>(matrix, spoil), info};
          }};
}

/// With b = A times ones and x0 = 0.
[[nodiscard]] inline compare::Subject<double> subject_of(const std::shared_ptr<const Csr<double>>& matrix) {
  return {matrix, statistics(matrix->view()), "test", [matrix] {
            compare::SystemVectors<double> vectors{std::vector<double>(static_cast<std::size_t>(matrix->rows())),
                                                   std::vector<double>(static_cast<std::size_t>(matrix->cols()))};
            const std::vector<double> ones(vectors.x0.size(), 1.0);
            SpmvPlan<double>(matrix, SpoiltOperator<double>::csr_options()).apply(ones, vectors.b);
            return vectors;
          }};
}

/// Few rounds of everything.
[[nodiscard]] inline compare::Settings quick_comparison() {
  compare::Settings settings;
  settings.timing.rounds = 3;
  settings.timing.min_seconds = 0.0;
  return settings;
}

}  // namespace tessera::testing
