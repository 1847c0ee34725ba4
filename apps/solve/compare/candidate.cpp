#include "compare/candidate.hpp"

#include "compare/word_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::cli {

namespace {

template <class T>
[[nodiscard]] Candidate<T> make_candidate(std::string name, const SpmvOptions& options) {
  return {std::move(name), options, [options](const std::shared_ptr<const Csr<T>>& matrix) {
            auto plan = std::make_unique<SpmvPlan<T>>(matrix, options);
            PlanInfo info = plan->info();
            return PlannedKernel<T>{std::move(plan), std::move(info)};
          }};
}

/// The class that a kernel keeps when none is asked for, seen on a 1 x 1 matrix.
template <class T>
[[nodiscard]] Determinism class_kept(const SpmvOptions& options) {
  constexpr std::array<offset_t, 2> offsets{0, 1};
  constexpr std::array<index_t, 1> columns{0};
  auto one = Csr<T>::pattern(1, 1, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
  return SpmvPlan<T>(std::move(one), options).info().determinism;
}

}  // namespace

template <class T>
std::vector<Candidate<T>> registered_candidates(const Device& device) {
  std::vector<Candidate<T>> table;
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    SpmvOptions options;
    options.algorithm = algorithm;
    options.device = device;
    const std::string name(to_string(algorithm));
    table.push_back(make_candidate<T>(name, options));
    if (class_kept<T>(options) == Determinism::gpu_to_gpu) continue;
    options.determinism = Determinism::gpu_to_gpu;
    table.push_back(make_candidate<T>(name + ":gpu", options));
  }
  return table;
}

template <class T>
std::vector<Candidate<T>> choose_candidates(std::vector<Candidate<T>> table, const std::string& wanted) {
  if (wanted == "all") return table;
  std::vector<std::string_view> known{"all"};
  for (const Candidate<T>& candidate : table) known.push_back(candidate.name);
  const std::vector<std::string> words = parse_word_list("kernels", wanted, known);
  if (std::find(words.begin(), words.end(), "all") != words.end()) return table;
  std::vector<Candidate<T>> chosen;
  for (Candidate<T>& candidate : table) {
    const bool named = std::find(words.begin(), words.end(), candidate.name) != words.end();
    if (named || candidate.name == reference_kernel) chosen.push_back(std::move(candidate));
  }
  return chosen;
}

template std::vector<Candidate<float>> registered_candidates(const Device&);
template std::vector<Candidate<double>> registered_candidates(const Device&);
template std::vector<Candidate<float>> choose_candidates(std::vector<Candidate<float>>, const std::string&);
template std::vector<Candidate<double>> choose_candidates(std::vector<Candidate<double>>, const std::string&);

}  // namespace tessera::cli
