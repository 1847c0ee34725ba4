#include "compare/candidate.hpp"

#include "tessera/error.hpp"

#include <array>
#include <optional>
#include <utility>

namespace tessera::compare {

namespace {

constexpr std::string_view reproducible = ":reproducible";

template <class T>
[[nodiscard]] Candidate<T> make_candidate(std::string name, const SpmvOptions& options) {
  return {std::move(name),
          options,
          [options](const std::shared_ptr<const Csr<T>>& matrix) {
            auto plan = std::make_unique<SpmvPlan<T>>(matrix, options);
            PlanInfo info = plan->info();
            return PlannedKernel<T>{std::move(plan), std::move(info)};
          },
          {}};
}

/// A kernel tried on a 1 x 1 matrix: the determinism class that it keeps, or why it cannot be set up.
struct Trial {
  std::optional<Determinism> kept;
  std::string refusal;
};

template <class T>
[[nodiscard]] Trial try_out(const SpmvOptions& options) {
  constexpr std::array<offset_t, 2> offsets{0, 1};
  constexpr std::array<index_t, 1> columns{0};
  auto one = Csr<T>::pattern(1, 1, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
  try {
    return {SpmvPlan<T>(std::move(one), options).info().determinism, {}};
  } catch (const NotSupported& error) {
    return {std::nullopt, error.what()};
  }
}

/// The candidate that keeps more than `kept` when asked, if there is one.
template <class T>
[[nodiscard]] std::optional<Candidate<T>> stronger_candidate(SpmvOptions options, Determinism kept) {
  const std::string name = std::string(to_string(options.algorithm)).append(reproducible);
  for (const Determinism determinism : {Determinism::gpu_to_gpu, Determinism::run_to_run}) {
    if (determinism <= kept) break;
    options.determinism = determinism;
    if (try_out<T>(options).kept) return make_candidate<T>(name, options);
  }
  return std::nullopt;
}

}  // namespace

std::string current_name(std::string_view name) {
  for (const std::string_view suffix : {":gpu", ":run"}) {
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size())).append(reproducible);
  }
  return std::string(name);
}

template <class T>
std::vector<Candidate<T>> registered_candidates(const Device& device) {
  std::vector<Candidate<T>> table;
  for (const SpmvAlgorithm algorithm : spmv_algorithms(device)) {
    SpmvOptions options;
    options.algorithm = algorithm;
    options.device = device;
    const std::string name(to_string(algorithm));
    const Trial trial = try_out<T>(options);
    table.push_back(make_candidate<T>(name, options));
    table.back().unavailable = trial.refusal;
    if (!trial.kept) continue;
    if (auto stronger = stronger_candidate<T>(options, *trial.kept)) table.push_back(std::move(*stronger));
  }
  return table;
}

template <class T>
std::string reference_of(const std::vector<Candidate<T>>& candidates) {
  for (const SpmvAlgorithm plain : {SpmvAlgorithm::csr, SpmvAlgorithm::csr_vector}) {
    for (const Candidate<T>& candidate : candidates) {
      if (candidate.name == to_string(plain)) return candidate.name;
    }
  }
  return {};
}

template std::string reference_of(const std::vector<Candidate<float>>&);
template std::string reference_of(const std::vector<Candidate<double>>&);
template std::vector<Candidate<float>> registered_candidates(const Device&);
template std::vector<Candidate<double>> registered_candidates(const Device&);

}  // namespace tessera::compare
