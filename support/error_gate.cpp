// Accuracy of a solution, on the device of the system.
#include "support/error_gate.hpp"

#include "core/stopwatch.hpp"
#include "solvers/ladder/error_claim.hpp"

#include "tessera/array.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tessera::support {

namespace {

/// b and x where A lies: the caller's spans on the host, else copies.
template <class T>
class PlacedVectors {
 public:
  explicit PlacedVectors(const SolvedSystem<T>& solved)
      : solved_(solved), on_host_(solved.operators.A.device().is_host()) {
    if (on_host_) return;
    const Device device = solved.operators.A.device();
    b_ = Array<T>::copy_of(solved.b, device);
    x_ = Array<T>::copy_of(std::span<const T>(solved.x), device);
  }

  [[nodiscard]] std::span<const T> b() const { return on_host_ ? solved_.b : std::as_const(b_).span(); }
  [[nodiscard]] std::span<T> x() { return on_host_ ? solved_.x : x_.span(); }

  /// The caller's x becomes this one.
  void bring_back() {
    if (on_host_) return;
    detail::copy_bytes(Device{}, solved_.x.data(), x_.device(), x_.data(), x_.bytes());
  }

 private:
  const SolvedSystem<T>& solved_;
  bool on_host_;
  Array<T> b_;
  Array<T> x_;
};

/// Whether the forward error is to be looked at.
[[nodiscard]] bool is_candidate(const SolveReport& report) {
  const bool ended = report.status == Status::converged || report.status == Status::stagnated;
  return ended && report.b_norm > 0.0 && std::isfinite(report.true_residual);
}

template <class T>
void assess(const SolvedSystem<T>& solved, ErrorGate gate, PlacedVectors<T>& vectors, Accuracy& accuracy,
            SolveReport& report) {
  const FusedOperator<T>& A = solved.operators.A;
  const CorrectionSolver<T> correct = [&](std::span<const T> residual, std::span<T> d, const SolverOptions& options) {
    return run_method<T>(solved.method, solved.operators, residual, d, options);
  };
  const detail::EndedSolve<T> ended{.A = A,
                                    .M = solved.operators.M,
                                    .matrix = solved.matrix,
                                    .facts = solved.facts,
                                    .b = vectors.b(),
                                    .x = vectors.x(),
                                    .solve = correct,
                                    .is_cg = solved.method == IterativeMethod::cg,
                                    .is_direct = solved.method == Method::direct,
                                    .memory_limit_bytes = solved.memory_limit_bytes,
                                    .may_screen = report.converged()};
  const detail::ErrorAssessment assessed = detail::assess_error<T>(ended, solved.options, gate, report);
  accuracy.estimate = assessed.estimate;
  accuracy.backward = assessed.backward;
  if (accuracy.estimate->corrections == 0) return;
  vectors.bring_back();
  report.true_residual = assessed.true_residual;
  if (report.converged() || !(report.true_residual <= report.target)) return;
  report.status = Status::converged;
  report.reason = fmt::format("||b - A x||_2 = {:.3g} <= {:.3g} after {} of the error gate", report.true_residual,
                              report.target, accuracy.estimate->corrections == 1 ? "a correction" : "corrections");
}

}  // namespace

template <class T>
Accuracy assess_accuracy(const SolvedSystem<T>& solved, ErrorGate gate, SolveReport& report) {
  const Stopwatch timer;
  Accuracy accuracy;
  PlacedVectors<T> vectors(solved);
  if (gate != ErrorGate::off && is_candidate(report)) {
    assess(solved, gate, vectors, accuracy, report);
  } else {
    accuracy.backward = backward_error<T>(solved.matrix, vectors.b(), vectors.x(), solved.operators.A.device());
  }
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  accuracy.backward_stable = !report.converged() && is_backward_stable(accuracy.backward, report, epsilon);
  accuracy.ms = timer.milliseconds();
  return accuracy;
}

template Accuracy assess_accuracy(const SolvedSystem<float>&, ErrorGate, SolveReport&);
template Accuracy assess_accuracy(const SolvedSystem<double>&, ErrorGate, SolveReport&);

}  // namespace tessera::support
