/// \file
/// CG with AMG on one GPU and on several: set-up and whole solves in turn, as a part of several_devices_cuda.cpp.
#pragma once

#include "bench/report.hpp"
#include "bench/several_devices_ranks.hpp"
#include "tessera/amg_several_devices.hpp"
#include "tessera/error.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

/// Of one contender, round by round.
struct AmgRuns {
  std::vector<double> setup_ms;  ///< of M, from the matrix on the first GPU
  std::vector<double> solve_ms;
  std::int64_t iterations = 0;
  AmgSetupTimes phases;  ///< of the last set-up, on the first GPU
  std::vector<double> x;

  [[nodiscard]] std::vector<double> total_ms() const {
    std::vector<double> result = setup_ms;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += solve_ms[i];
    return result;
  }
};

[[nodiscard]] inline double milliseconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

/// Random in sign, so that all levels have work.
[[nodiscard]] inline std::vector<double> random_signs(index_t rows) {
  std::vector<double> b(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = (i * 2654435761U) % 1024 < 512 ? 1.0 : -1.0;
  return b;
}

inline void require_converged(const SolveReport& report) {
  if (!report.converged()) throw Error("CG with AMG did not converge: " + report.reason);
}

class AmgOnOneDevice {
 public:
  AmgOnOneDevice(const Csr<double>& matrix, const Device& device)
      : plan_(Csr<double>::copy_of(matrix.view()), {.device = device}),
        b_(Array<double>::copy_of(random_signs(matrix.rows()), device)),
        x_(matrix.rows(), Init::none, device) {}

  void run(const SolverOptions& options, AmgRuns& runs) {
    const auto began = std::chrono::steady_clock::now();
    const Amg<double> M(plan_.matrix(), {}, plan_.device());
    synchronize(plan_.device());
    runs.setup_ms.push_back(milliseconds_since(began));
    runs.phases = M.hierarchy().times;
    detail::zero_bytes(x_.device(), x_.data(), x_.bytes());
    const SolveReport report = cg<double>(plan_, M, std::as_const(b_).span(), x_.span(), options);
    require_converged(report);
    runs.solve_ms.push_back(report.timings.solve_ms);
    runs.iterations = report.iterations;
    const Array<double> on_host = x_.to(Device{});
    runs.x.assign(on_host.begin(), on_host.end());
  }

 private:
  SpmvPlan<double> plan_;
  Array<double> b_;
  Array<double> x_;
};

class AmgOnDevices {
 public:
  AmgOnDevices(const Csr<double>& matrix, const DeviceGroup& group)
      : on_first_(matrix.to(group.device(0))), matrix_(group, matrix.view()), b_(random_signs(matrix.rows())) {}

  void run(const SolverOptions& options, AmgRuns& runs) {
    const auto began = std::chrono::steady_clock::now();
    const DistributedAmg<double> M(matrix_, on_first_);
    runs.setup_ms.push_back(milliseconds_since(began));
    std::vector<double> x(b_.size());
    const SolveReport report = cg<double>(matrix_, M, b_, x, options);
    require_converged(report);
    runs.solve_ms.push_back(report.timings.solve_ms);
    runs.iterations = report.iterations;
    is_repeated_ = is_repeated_ && (runs.x.empty() || runs.x == x);
    runs.x = std::move(x);
    info_ = M.info();
    runs.phases = info_.hierarchy.times;
  }
  /// Of M, from the matrix on the host.
  [[nodiscard]] double setup_from_host_ms(const Csr<double>& matrix) const {
    const auto began = std::chrono::steady_clock::now();
    const DistributedAmg<double> M(matrix_, matrix);
    return milliseconds_since(began);
  }
  /// Whether all runs have given the same bits.
  [[nodiscard]] bool is_repeated() const noexcept { return is_repeated_; }
  [[nodiscard]] const DistributedAmgInfo& info() const noexcept { return info_; }
  [[nodiscard]] Json parts() const { return json_of_parts(matrix_.parts()); }

 private:
  Csr<double> on_first_;
  DistributedMatrix<double> matrix_;
  std::vector<double> b_;
  bool is_repeated_ = true;
  DistributedAmgInfo info_;
};

[[nodiscard]] inline Json json_of(const AmgSetupTimes& phases) {
  return {{"strength", phases.strength},       {"eigenvalues", phases.eigenvalues},
          {"aggregation", phases.aggregation}, {"prolongator", phases.prolongator},
          {"restriction", phases.restriction}, {"products", phases.products},
          {"layout", phases.layout},           {"check", phases.check}};
}

/// Both in turn, after one round that does not count.
[[nodiscard]] inline Json compare_amg(const std::string& name, const Csr<double>& matrix, const DeviceGroup& group,
                                      int rounds) {
  const SolverOptions options{.relative_tolerance = 1e-8};
  AmgRuns of_one;
  AmgRuns of_all;
  AmgOnOneDevice one(matrix, group.device(0));
  AmgOnDevices all(matrix, group);
  for (int round = 0; round <= rounds; ++round) {
    one.run(options, of_one);
    all.run(options, of_all);
    if (round > 0) continue;
    for (AmgRuns* const runs : {&of_one, &of_all}) {
      runs->setup_ms.clear();
      runs->solve_ms.clear();
    }
  }
  double largest = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < of_one.x.size(); ++i) {
    largest = std::max(largest, std::abs(of_one.x[i]));
    difference = std::max(difference, std::abs(of_one.x[i] - of_all.x[i]));
  }
  Json row{{"problem", name}, {"rows", matrix.rows()}, {"nnz", matrix.nnz()}};
  for (const auto& [who, runs] : {std::pair{"one", &of_one}, std::pair{"all", &of_all}}) {
    row["setup_ms"][who] = json_of(summarise(runs->setup_ms));
    row["solve_ms"][who] = json_of(summarise(runs->solve_ms));
    row["iterations"][who] = runs->iterations;
    row["setup_phases_ms"][who] = json_of(runs->phases);
  }
  const TimingRatio setup = median_ratio(of_one.setup_ms, of_all.setup_ms);
  const TimingRatio solve = median_ratio(of_one.solve_ms, of_all.solve_ms);
  row["setup_ratio"] = json_of(setup);
  row["solve_ratio"] = json_of(solve);
  row["difference_of_x"] = difference / largest;
  row["same_bits_again"] = all.is_repeated();
  row["shared_levels"] = all.info().shared_levels;
  row["total_ratio"] = json_of(median_ratio(of_one.total_ms(), of_all.total_ms()));
  const DistributedAmgInfo& info = all.info();
  row["setup_all"] = {{"hierarchy_ms", info.setup_ms},
                      {"exchange_ms", info.exchange_ms},
                      {"shares_ms", info.share_ms},
                      {"check_ms", info.check_ms}};
  row["setup_from_host_ms"] = all.setup_from_host_ms(matrix);
  row["parts"] = all.parts();
  fmt::print("  {:34} set-up {:9.3f} ms, all {:9.3f} ms: {:.3f}; solve {:9.3f} ms, all {:9.3f} ms: {:.3f}\n", name,
             summarise(of_one.setup_ms).median, summarise(of_all.setup_ms).median, setup.ratio,
             summarise(of_one.solve_ms).median, summarise(of_all.solve_ms).median, solve.ratio);
  std::fflush(stdout);
  return row;
}

}  // namespace tessera::bench
