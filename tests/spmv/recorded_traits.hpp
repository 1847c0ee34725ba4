/// \file
/// Products that bench/results has times of beside what their predictions depended on, of the kernels of 2026-11-28.
#pragma once

#include "tests/spmv/recorded_products.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Files of bench_spmv_cuda on H200s.
inline constexpr auto files_with_traits = std::to_array<std::string_view>(
    {"2026-11-28-h200-spmv-all-kernels.json", "2026-11-28-h200-spmv-all-kernels-others.json",
     "2026-11-28-h200-spmv-all-kernels-second.json", "2026-11-28-h200-spmv-blocks.json",
     "2026-11-28-h200-spmv-blocks-part.json"});

namespace recorded {

[[nodiscard]] inline std::optional<double> bytes_of(const Json& number) {
  return number.is_null() ? std::nullopt : std::optional(number.get<double>());
}

[[nodiscard]] inline detail::ProductTraits traits_of(const Json& json) {
  detail::ProductTraits m;
  m.rows = json.at("rows");
  m.cols = json.at("cols");
  m.nnz = json.at("nonzeros");
  m.value_bytes = json.at("value_bytes");
  m.element_bytes = json.at("element_bytes");
  m.reads = {json.at("lines"), json.at("far_lines")};
  m.row_lengths.lanes = json.at("lanes");
  m.row_lengths.typical_mean = json.at("typical_mean");
  m.row_lengths.short_nonzeros = json.at("short_nonzeros");
  m.row_lengths.lane_slots = json.at("lane_slots");
  m.longest_row = json.at("longest_row");
  m.hubs = {json.at("hubs_spared"), json.at("hubs_staged")};
  m.tile_bytes = bytes_of(json.at("tile_bytes"));
  m.pattern_bytes = bytes_of(json.at("pattern_bytes"));
  m.sell_bytes = bytes_of(json.at("sell_bytes"));
  m.sell_is_sorted = json.at("sell_is_sorted");
  return m;
}

/// A matrix with the kernels of the registry that were named, or all of them. \param prediction of one storage
[[nodiscard]] inline RecordedMatrix matrix_of(const Json& result, const Json& prediction) {
  const bool pattern = prediction.at("pattern");
  RecordedMatrix matrix;
  matrix.name = result.at("family").get<std::string>() + " " + result.at("precision").get<std::string>() +
                (pattern ? " pattern" : "");
  matrix.promised = traits_of(prediction.at("traits"));
  matrix.planned = matrix.promised;
  for (const Json& row : result.at("kernels")) {
    if (row.at("pattern") != pattern || !row.contains("time") || row.at("kernel") != row.value("chosen", "")) continue;
    const SpmvAlgorithm algorithm = parse_spmv_algorithm(row.at("kernel").get<std::string>());
    matrix.kernels.push_back({algorithm, row.at("time").at("median_ms")});
    matrix.planned = detail::with_plan_bytes(matrix.planned, algorithm, row.at("plan_bytes"));
  }
  return matrix;
}

/// Of another kernel than today's: row patterns with two rows per lane.
[[nodiscard]] inline bool is_outdated(std::string_view file, const Json& result) {
  return file == "2026-11-28-h200-spmv-all-kernels-others.json" &&
         (result.at("family") == "elast3" || result.at("family") == "block4");
}

}  // namespace recorded

/// All have 10^6 nonzeros or more.
[[nodiscard]] inline std::vector<RecordedMatrix> matrices_with_traits(const std::filesystem::path& results) {
  std::vector<RecordedMatrix> matrices;
  for (const std::string_view file : files_with_traits) {
    std::ifstream stream(results / file);
    const recorded::Json document = recorded::Json::parse(stream);
    for (const recorded::Json& result : document.at("results")) {
      if (recorded::is_outdated(file, result)) continue;
      for (const recorded::Json& prediction : result.at("predictions")) {
        matrices.push_back(recorded::matrix_of(result, prediction));
      }
    }
  }
  return matrices;
}

}  // namespace tessera::testing
