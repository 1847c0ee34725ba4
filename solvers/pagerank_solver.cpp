/// PageRank kept for many solves.
#include "tessera/pagerank_solver.hpp"

#include "core/exclusive_calls.hpp"
#include "solvers/pagerank_batch.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace tessera {

template <class T>
class PageRankSolver<T>::Impl {
 public:
  Impl(const TransitionMatrix<T>& transition, const PageRankOptions& options)
      : transition_(transition), options_(checked(options)), plan_(transition.in_links(), plan_options()) {}

  [[nodiscard]] PageRankReport solve(std::span<const double> personalization, std::span<T> ranks, RankStart start) {
    const index_t vertices = transition_.vertices();
    if (static_cast<std::int64_t>(ranks.size()) != vertices) {
      throw DimensionError(fmt::format("ranks must have one element per vertex: {}, got {}", vertices, ranks.size()));
    }
    const auto scope = calls_.enter("PageRankSolver");
    const auto teleport = detail::look_at_teleport(personalization, vertices, transition_.device());
    const std::span<const detail::TeleportWeights> only(&teleport, 1);
    std::optional<detail::RankBatch<T>>& batch = personalization.empty() ? uniform_ : personalized_;
    if (!batch) batch.emplace(transition_, plan_, options_, only);
    const std::span<const T> initial = start == RankStart::given ? std::span<const T>(ranks) : std::span<const T>{};
    PageRankReport report = std::move(batch->run(only, options_, initial).front());
    batch->write_ranks(ranks, report);
    return report;
  }

  [[nodiscard]] const PageRankOptions& options() const noexcept { return options_; }

 private:
  [[nodiscard]] static const PageRankOptions& checked(const PageRankOptions& options) {
    detail::check_rank_options(options);
    if (options.personalization.empty()) return options;
    throw InvalidArgument("PageRankSolver: personalizations are given to its solves, not to its options");
  }

  [[nodiscard]] SpmvOptions plan_options() const {
    return detail::rank_plan_options(options_.spmv, transition_.device());
  }

  const TransitionMatrix<T>& transition_;
  PageRankOptions options_;
  SpmvPlan<T> plan_;
  // What a GPU has recorded depends on whether there is a distribution.
  std::optional<detail::RankBatch<T>> uniform_;
  std::optional<detail::RankBatch<T>> personalized_;
  detail::ExclusiveCalls calls_;
};

template <class T>
PageRankSolver<T>::PageRankSolver(const TransitionMatrix<T>& transition, const PageRankOptions& options)
    : impl_(std::make_unique<Impl>(transition, options)) {}

template <class T>
PageRankSolver<T>::~PageRankSolver() = default;
template <class T>
PageRankSolver<T>::PageRankSolver(PageRankSolver&&) noexcept = default;
template <class T>
PageRankSolver<T>& PageRankSolver<T>::operator=(PageRankSolver&&) noexcept = default;

template <class T>
PageRankReport PageRankSolver<T>::solve(std::span<const double> personalization, std::span<T> ranks, RankStart start) {
  return impl_->solve(personalization, ranks, start);
}

template <class T>
const PageRankOptions& PageRankSolver<T>::options() const noexcept {
  return impl_->options();
}

template class PageRankSolver<float>;
template class PageRankSolver<double>;

}  // namespace tessera
