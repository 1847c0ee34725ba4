/// \file
/// Predicted times of products beside measured ones.
#include "bench/spmv_predictions.hpp"

#include <algorithm>
#include <iterator>

namespace tessera::bench {

namespace {

Json json_of(const std::optional<double>& bytes) { return bytes ? Json(*bytes) : Json(nullptr); }

Json json_of(const detail::ProductTraits& m) {
  return {{"rows", m.rows},
          {"cols", m.cols},
          {"nonzeros", m.nnz},
          {"value_bytes", m.value_bytes},
          {"element_bytes", m.element_bytes},
          {"lines", m.reads.lines},
          {"far_lines", m.reads.far_lines},
          {"lanes", m.row_lengths.lanes},
          {"typical_mean", m.row_lengths.typical_mean},
          {"short_nonzeros", m.row_lengths.short_nonzeros},
          {"lane_slots", m.row_lengths.lane_slots},
          {"longest_row", m.longest_row},
          {"hubs_spared", m.hubs.spared},
          {"hubs_staged", m.hubs.staged},
          {"tile_bytes", json_of(m.tile_bytes)},
          {"pattern_bytes", json_of(m.pattern_bytes)},
          {"sell_bytes", json_of(m.sell_bytes)},
          {"sell_is_sorted", m.sell_is_sorted}};
}

}  // namespace

std::optional<double> Predictions::of(SpmvAlgorithm algorithm) const {
  const auto predicted = detail::predict_product(algorithm, traits_, figures_);
  return predicted ? std::optional(predicted->ms) : std::nullopt;
}

int Predictions::rank(SpmvAlgorithm algorithm, const std::vector<TimedKernel>& timed) const {
  const double own = of(algorithm).value();
  return 1 + static_cast<int>(std::count_if(timed.begin(), timed.end(),
                                            [&](const TimedKernel& each) { return of(each.algorithm) < own; }));
}

Json Predictions::json(const std::vector<TimedKernel>& timed) const {
  Json json{{"traits", json_of(traits_)}, {"fastest", nullptr}, {"rank", nullptr}};
  std::vector<TimedKernel> predicted;
  std::copy_if(timed.begin(), timed.end(), std::back_inserter(predicted),
               [&](const TimedKernel& each) { return of(each.algorithm).has_value(); });
  if (predicted.empty()) return json;
  const auto fastest = std::min_element(predicted.begin(), predicted.end(),
                                        [](const TimedKernel& a, const TimedKernel& b) { return a.ms < b.ms; });
  json["fastest"] = to_string(fastest->algorithm);
  json["rank"] = rank(fastest->algorithm, predicted);
  for (const TimedKernel& each : predicted)
    json["predicted_ms"][std::string(to_string(each.algorithm))] = *of(each.algorithm);
  return json;
}

}  // namespace tessera::bench
