/// \file
/// PageRank on one GPU and on several, as contenders of several_devices_cuda.cpp.
#pragma once

#include "bench/report.hpp"
#include "tessera/pagerank_several_devices.hpp"
#include "tessera/pagerank_solver.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::bench {

inline Json json_of_parts(const std::vector<DevicePart>& parts) {
  Json json = Json::array();
  for (const DevicePart& part : parts) {
    json.push_back({{"device", part.device},
                    {"rows", part.rows},
                    {"nnz", part.nnz},
                    {"halo", part.halo},
                    {"halo_nnz", part.halo_nnz},
                    {"kernel", part.kernel},
                    {"halo_kernel", part.halo_kernel}});
  }
  return json;
}

inline PageRankOptions rank_options(std::int64_t iterations) {
  PageRankOptions options;
  options.tolerance = 0.0;
  options.max_iterations = iterations;
  return options;
}

/// The end of a ranking in the words of a solve.
inline SolveReport in_words_of_solves(const PageRankReport& report) {
  SolveReport result;
  result.reason = report.reason;
  result.iterations = report.iterations;
  result.timings = report.timings;
  return result;
}

/// The vertices of a graph on one GPU.
template <class T>
class RanksOnOne {
 public:
  RanksOnOne(const TransitionMatrix<T>& transition, const Device& device)
      : transition_(transition), plan_options_(options_on(device)), ranks_(static_cast<std::size_t>(vertices())) {}

  SolveReport operator()(std::int64_t iterations, std::vector<double>& x) {
    std::unique_ptr<PageRankSolver<T>>& solver = solvers_[iterations];
    if (solver == nullptr) {
      PageRankOptions options = rank_options(iterations);
      options.spmv = plan_options_;
      solver = std::make_unique<PageRankSolver<T>>(transition_, options);
    }
    const PageRankReport report = solver->solve({}, ranks_);
    kernel_ = std::string(to_string(report.plan.algorithm));
    x.assign(ranks_.begin(), ranks_.end());
    return in_words_of_solves(report);
  }
  [[nodiscard]] const std::string& kernel() const noexcept { return kernel_; }

 private:
  [[nodiscard]] static SpmvOptions options_on(const Device& device) {
    SpmvOptions options;
    options.device = device;
    return options;
  }
  [[nodiscard]] index_t vertices() const { return transition_.vertices(); }

  const TransitionMatrix<T>& transition_;
  SpmvOptions plan_options_;
  std::map<std::int64_t, std::unique_ptr<PageRankSolver<T>>> solvers_;
  std::vector<T> ranks_;
  std::string kernel_;
};

/// The same on a group.
template <class T>
class RanksOnGroup {
 public:
  RanksOnGroup(const TransitionMatrix<T>& transition, const DeviceGroup& group) : matrix_(group, transition) {}

  SolveReport operator()(std::int64_t iterations, std::vector<double>& x) {
    const PageRankResult<T> result = pagerank(matrix_, rank_options(iterations));
    x.assign(result.ranks.begin(), result.ranks.end());
    return in_words_of_solves(result);
  }
  [[nodiscard]] Json parts() const { return json_of_parts(matrix_.parts()); }

 private:
  DistributedTransitionMatrix<T> matrix_;
};

}  // namespace tessera::bench
