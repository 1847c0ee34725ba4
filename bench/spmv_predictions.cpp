/// \file
/// Predicted times of products beside measured ones.
#include "bench/spmv_predictions.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

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

Json prediction_json(const detail::ProductTraits& traits, const DeviceFigures& figures,
                     const std::map<SpmvAlgorithm, double>& timed) {
  Json json{{"traits", json_of(traits)}, {"fastest", nullptr}, {"rank", nullptr}};
  std::vector<detail::PredictedProduct> predicted = detail::predict_products(traits, figures);
  std::erase_if(predicted, [&](const detail::PredictedProduct& each) { return !timed.contains(each.algorithm); });
  if (predicted.empty()) return json;
  const auto fastest = std::min_element(predicted.begin(), predicted.end(), [&](const auto& a, const auto& b) {
    return timed.at(a.algorithm) < timed.at(b.algorithm);
  });
  json["fastest"] = to_string(fastest->algorithm);
  json["rank"] = fastest - predicted.begin() + 1;
  for (const detail::PredictedProduct& each : predicted) {
    json["predicted_ms"][std::string(to_string(each.algorithm))] = each.ms;
  }
  return json;
}

}  // namespace tessera::bench
