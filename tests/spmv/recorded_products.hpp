/// \file
/// Products that bench/results has times of, with what a prediction of them depends on.
#pragma once

#include "spmv/prediction/predicted_time.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::testing {

/// A sample of a matrix at full size: sample_matrix() of what the generators of bench/zoo.hpp make, and of the two real
/// matrices of more than 10^6 nonzeros. kmer, web: half of the rows; shuffled5, shuffled27: as recorded.
struct RecordedSample {
  std::string_view family;
  double lines_of_double;
  double far_lines_of_double;
  double lines_of_float;
  double far_lines_of_float;
  int lanes;
  double typical_mean;
  double short_nonzeros;
  double lane_slots;
  offset_t longest;
};
inline constexpr auto recorded_samples = std::to_array<RecordedSample>({
    {"lap2d", 0.0432, 0.0, 0.0245, 0.0, 2, 4.968, 4.968, 5.938, 5},
    {"fem3d", 0.0388, 0.0, 0.0278, 0.0, 8, 25.589, 25.589, 30.75, 27},
    {"rmat", 0.9919, 0.9614, 0.9893, 0.9321, 4, 9.803, 6.432, 37.625, 97727},
    {"road", 0.0833, 0.0, 0.0443, 0.0, 1, 2.359, 2.359, 3.953, 4},
    {"kmer", 1.0, 0.9921, 0.9997, 0.9841, 1, 2.124, 2.124, 3.219, 7},
    {"mawi", 0.2504, 0.226, 0.2362, 0.2253, 1, 1.25, 1.209, 5.109, 25201476},
    {"web", 0.3878, 0.2789, 0.3228, 0.2346, 4, 9.212, 8.067, 32.422, 45474},
    {"band", 0.0263, 0.0, 0.0141, 0.0, 32, 200.0, 200.0, 224.0, 200},
    {"rowskew", 0.6912, 0.6011, 0.4416, 0.3358, 1, 3.488, 3.488, 39.75, 200000},
    {"stencil5", 0.0432, 0.0, 0.0245, 0.0, 2, 4.968, 4.968, 5.938, 5},
    {"stencil27", 0.0388, 0.0, 0.0278, 0.0, 8, 25.589, 25.589, 30.75, 27},
    {"shuffled5", 0.8137, 0.783, 0.8073, 0.7673, 2, 5.0, 5.0, 6.0, 5},
    {"shuffled27", 0.9617, 0.7665, 0.9563, 0.6102, 8, 26.473, 26.473, 32.0, 27},
    {"elast3", 0.0312, 0.0, 0.0242, 0.0, 32, 76.531, 76.531, 91.344, 81},
    {"block4", 0.0281, 0.0, 0.0227, 0.0, 32, 101.703, 101.703, 122.0, 108},
    {"block6", 0.0351, 0.0, 0.0259, 0.0, 32, 147.551, 147.551, 175.406, 162},
    {"cnr-2000", 0.0425, 0.0098, 0.0342, 0.0068, 4, 10.072, 10.072, 18.766, 2716},
    {"G3_circuit_lead400k", 0.3297, 0.3081, 0.3223, 0.299, 2, 4.36, 4.36, 5.062, 5},
});

/// One kernel on one matrix.
struct RecordedKernel {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  double ms = 0.0;
};

/// All kernels on one matrix in one precision.
struct RecordedMatrix {
  std::string name;                ///< file, family, precision, "pattern"
  detail::ProductTraits promised;  ///< with the bytes of layouts that a sample promised where it was recorded
  detail::ProductTraits planned;   ///< with the bytes that plans had
  std::vector<RecordedKernel> kernels;

  [[nodiscard]] const RecordedKernel& best() const {
    return *std::min_element(kernels.begin(), kernels.end(),
                             [](const RecordedKernel& a, const RecordedKernel& b) { return a.ms < b.ms; });
  }
};

/// Files of products on an H200. MERBIT reads scattered columns up to 6 % faster since 2026-11-27.
inline constexpr auto recorded_files = std::to_array<std::string_view>(
    {"2026-11-22-h200-spmv.json", "2026-11-23-h200-spmv-bsr.json", "2026-11-23-h200-spmv-layouts-fp32.json",
     "2026-11-23-h200-spmv-layouts-pattern.json", "2026-11-23-h200-spmv-layouts.json",
     "2026-11-23-h200-spmv-tiles-poor.json", "2026-11-23-h200-spmv-tiles.json", "2026-11-23-h200-spmv-unqualified.json",
     "2026-11-24-h200-spmv-blocked.json", "2026-11-24-h200-spmv-real.json", "2026-11-26-h200-spmv-measured-fp32.json",
     "2026-11-26-h200-spmv-measured.json", "2026-11-26-h200-spmv-sorted-two-entries.json",
     "2026-11-27-h200-spmv-aligned-fp32.json", "2026-11-27-h200-spmv-aligned.json"});
/// Times of `blocked` before that day are not compared: its lists went through registers.
inline constexpr std::string_view first_day_of_blocked = "2026-11-27";

namespace recorded {

using Json = nlohmann::json;

/// The last number before "bytes per nonzero", or the first.
[[nodiscard]] inline std::optional<double> bytes_in(const std::string& reason, bool last) {
  static const std::regex pattern("([0-9.e+-]+) bytes per nonzero");
  std::optional<double> result;
  for (std::sregex_iterator found(reason.begin(), reason.end(), pattern), end; found != end; ++found) {
    if (last || !result) result = std::stod((*found)[1]);
  }
  return result;
}

[[nodiscard]] inline std::string reason_of(const Json& row) { return row.value("reason_of_plan", std::string{}); }
[[nodiscard]] inline std::string chosen_of(const Json& row) { return row.value("chosen", row.at("kernel")); }

/// Puts the bytes of a layout where traits have them.
inline void put_bytes(detail::ProductTraits& traits, const Json& row, offset_t nnz, bool promised) {
  const std::string kernel = chosen_of(row);
  const std::string reason = reason_of(row);
  const bool by_auto = row.at("kernel") == "auto";
  if (kernel == "patterns" || kernel == "sell") {
    const std::optional<double> bytes = bytes_in(reason, !(promised && by_auto));
    if (!bytes) return;
    (kernel == "sell" ? traits.sell_bytes : traits.pattern_bytes) = bytes;
    if (kernel == "sell") traits.sell_is_sorted = reason.find("sorting rows") != std::string::npos;
  } else if (kernel == "tiles") {
    traits.tile_bytes = row.at("plan_bytes").get<double>() / static_cast<double>(nnz);
  }
}

[[nodiscard]] inline detail::ProductTraits traits_of(const Json& result, const RecordedSample& sample, bool pattern) {
  detail::ProductTraits traits;
  const std::string precision = result.at("precision");
  const bool in_float = precision == "fp32";
  traits.rows = result.at("rows");
  traits.cols = traits.rows;
  traits.nnz = result.at("nonzeros");
  traits.element_bytes = in_float ? 4.0 : 8.0;
  traits.value_bytes = pattern ? 0.0 : precision == "fp64" ? 8.0 : 4.0;
  traits.reads.lines = in_float ? sample.lines_of_float : sample.lines_of_double;
  traits.reads.far_lines = in_float ? sample.far_lines_of_float : sample.far_lines_of_double;
  traits.row_lengths.lanes = sample.lanes;
  traits.row_lengths.typical_mean = sample.typical_mean;
  traits.row_lengths.short_nonzeros = sample.short_nonzeros;
  traits.row_lengths.lane_slots = sample.lane_slots;
  traits.longest_row = sample.longest;
  return traits;
}

[[nodiscard]] inline std::optional<RecordedMatrix> matrix_of(std::string_view file, const Json& result, bool pattern) {
  const std::string family = result.at("family");
  const std::string base = family.substr(0, family.find(':'));
  const auto sample = std::find_if(recorded_samples.begin(), recorded_samples.end(),
                                   [&](const RecordedSample& each) { return each.family == base; });
  const bool reordered = family.find(":rcm") != std::string::npos;
  if (sample == recorded_samples.end() || reordered || !result.contains("kernels")) return std::nullopt;
  RecordedMatrix matrix;
  matrix.name =
      std::string(file) + " " + family + " " + result.at("precision").get<std::string>() + (pattern ? " pattern" : "");
  matrix.promised = traits_of(result, *sample, pattern);
  matrix.planned = matrix.promised;
  for (const Json& row : result.at("kernels")) {
    const std::string kernel = row.at("kernel");
    if (row.at("pattern") != pattern || !row.contains("time") || row.at("time").is_null()) continue;
    if (kernel.find(':') != std::string::npos || kernel.find("bsr") != std::string::npos) continue;  // variants, rivals
    // Sliced ELL has no such slices any more.
    if (reason_of(row).find("jagged") != std::string::npos && chosen_of(row) == "sell") continue;
    const SpmvAlgorithm algorithm = parse_spmv_algorithm(chosen_of(row));
    if (algorithm == SpmvAlgorithm::blocked && file < first_day_of_blocked) continue;
    if (kernel != "measured") put_bytes(matrix.promised, row, matrix.promised.nnz, true);
    if (kernel != "auto" && kernel != "measured") put_bytes(matrix.planned, row, matrix.planned.nnz, false);
    const bool has_row = std::any_of(matrix.kernels.begin(), matrix.kernels.end(),
                                     [&](const RecordedKernel& each) { return each.algorithm == algorithm; });
    if (!has_row) matrix.kernels.push_back({algorithm, row.at("time").at("median_ms")});
    if (kernel == "auto" && algorithm == SpmvAlgorithm::tiles) matrix.planned.tile_bytes = matrix.promised.tile_bytes;
  }
  return matrix;
}

}  // namespace recorded

/// Matrices with at least `least_nnz` nonzeros of which three kernels or more were measured.
[[nodiscard]] inline std::vector<RecordedMatrix> recorded_matrices(const std::filesystem::path& results,
                                                                   offset_t least_nnz) {
  std::vector<RecordedMatrix> matrices;
  for (const std::string_view file : recorded_files) {
    std::ifstream stream(results / file);
    const recorded::Json document = recorded::Json::parse(stream);
    for (const recorded::Json& result : document.at("results")) {
      if (result.at("nonzeros").get<offset_t>() < least_nnz) continue;
      for (const bool pattern : {false, true}) {
        std::optional<RecordedMatrix> matrix = recorded::matrix_of(file, result, pattern);
        if (matrix && matrix->kernels.size() >= 3) matrices.push_back(*std::move(matrix));
      }
    }
  }
  return matrices;
}

}  // namespace tessera::testing
