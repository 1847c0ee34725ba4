// The results of spgemm as text and JSON.
#include "spgemm_command.hpp"
#include "summary_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

[[nodiscard]] std::string size_of(const CommonOutcome& outcome, std::size_t width) {
  const MatrixStatistics& m = outcome.matrix;
  return fmt::format("{}{}: {} x {}, {} nonzeros{}{}", shown_problem(outcome, width),
                     outcome.transposed ? ", transposed" : "", m.rows, m.cols, m.nnz,
                     outcome.pattern ? ", pattern" : "", cache_text(outcome));
}

/// What rounding lost.
[[nodiscard]] std::string loss_text(const SpgemmReport& report) {
  const SpgemmLoss& loss = *report.loss;
  std::string values =
      fmt::format("{}: values off by {:.2g} of theirs at most", to_string(report.precision), loss.largest_rounding);
  if (loss.to_zero + loss.to_subnormal > 0) {
    values += fmt::format("; {} became 0, {} subnormal", loss.to_zero, loss.to_subnormal);
  }
  return line("loss", values) +
         line("",
              fmt::format("{} sampled entries of C: off by {:.2g} of their norm, one by {:.2g} of its terms at most",
                          loss.sampled_entries, loss.frobenius_error, loss.largest_error));
}

/// "5.20e+07 (+- 0.2 %)"
[[nodiscard]] std::string predicted_text(const Predicted& number) {
  if (number.error == 0.0) return fmt::format("{:.0f}", number.value);
  return fmt::format("{:.4g} (+- {:.2g} %)", number.value, 100.0 * number.error);
}

[[nodiscard]] std::string prediction_text(const ChainPrediction& prediction) {
  std::string text;
  for (const ProductPrediction& of : prediction.products) {
    const PredictedTime total = of.total();
    text +=
        line(text.empty() ? "predicted" : "", fmt::format("{}: {} products, {} entries, {}, with exact sizes in {}",
                                                          of.name, predicted_text(of.products), predicted_text(of.nnz),
                                                          size_text(of.bytes), size_text(of.peak_bytes)));
    std::string times = fmt::format("analysis {}", time_text(of.analysis.ms));
    // The host counts no rows by itself.
    if (of.symbolic.ms > 0.0) times += fmt::format(", counting {}", time_text(of.symbolic.ms));
    text += line("", fmt::format("{}, sums {}; within a factor {:.2g}, two times of three", times,
                                 time_text(of.numeric.ms), total.factor));
  }
  return text;
}

/// " (2.3e+05 predicted, +1.2 %)"
[[nodiscard]] std::string off_text(const SpgemmReport& report) {
  if (!report.predicted_nnz) return {};
  const auto nnz = static_cast<double>(report.nnz);
  const double off = nnz > 0.0 ? 100.0 * (*report.predicted_nnz / nnz - 1.0) : 0.0;
  return fmt::format(" ({:.4g} predicted, {:+.2g} %)", *report.predicted_nnz, off);
}

[[nodiscard]] std::string product_text(const SpgemmReport& report) {
  std::string text = line("sizes", fmt::format("{} ({})", to_string(report.workflow), report.reason));
  if (!report.fallback.empty()) text += line("", report.fallback);
  text += line("products", fmt::format("{}, {:.3g} per entry of C", report.products, report.compression()));
  if (report.predicted_nnz) text += line("entries", fmt::format("{}{}", report.nnz, off_text(report)));
  std::string rows;
  for (const SpgemmAccumulatorUse& use : report.accumulators) {
    rows += fmt::format("{}{} {}", rows.empty() ? "" : ", ", to_string(use.accumulator), counted(use.rows, "row"));
  }
  if (report.overflow_rows > 0) rows += fmt::format("; {} overflowed", counted(report.overflow_rows, "row"));
  if (!rows.empty()) text += line("rows", rows);
  if (report.loss) text += loss_text(report);
  return text;
}

[[nodiscard]] Json loss_json(const SpgemmLoss& loss) {
  Json json{{"values", loss.values}};
  put_number(json, "largest_rounding", loss.largest_rounding);
  json["to_zero"] = loss.to_zero;
  json["to_subnormal"] = loss.to_subnormal;
  json["sampled_entries"] = loss.sampled_entries;
  json["sampled_rows"] = loss.sampled_rows;
  put_number(json, "frobenius_error", loss.frobenius_error);
  put_number(json, "largest_error", loss.largest_error);
  return json;
}

[[nodiscard]] Json report_json(const SpgemmReport& report) {
  Json json{{"workflow", to_string(report.workflow)}, {"reason", report.reason}};
  json["fallback"] = report.fallback.empty() ? Json(nullptr) : Json(report.fallback);
  json["products"] = report.products;
  json["nnz"] = report.nnz;
  json["predicted_nnz"] = report.predicted_nnz ? Json(*report.predicted_nnz) : Json(nullptr);
  json["expansion"] = report.expansion;
  json["compression"] = report.compression();
  json["sample"] = nullptr;
  if (report.sample) {
    json["sample"] = {{"rows", report.sample->rows},
                      {"compression", report.sample->compression},
                      {"relative_error", report.sample->relative_error}};
  }
  json["registers"] = report.registers;
  json["estimate_error"] = report.estimate_error;
  json["overflow_rows"] = report.overflow_rows;
  json["accumulators"] = Json::array();
  for (const SpgemmAccumulatorUse& use : report.accumulators) {
    json["accumulators"].push_back(
        {{"name", to_string(use.accumulator)}, {"rows", use.rows}, {"products", use.products}});
  }
  json["precision"] = to_string(report.precision);
  json["loss"] = report.loss ? loss_json(*report.loss) : Json(nullptr);
  json["determinism"] = to_string(report.determinism);
  json["threads"] = report.threads;
  json["peak_bytes"] = report.peak_bytes;
  json["timings_ms"] = {{"upload", report.upload_ms},         {"analysis", report.analysis_ms},
                        {"sizing", report.sizing_ms},         {"numeric", report.numeric_ms},
                        {"compaction", report.compaction_ms}, {"total", report.total_ms}};
  return json;
}

[[nodiscard]] Json predicted_json(const Predicted& number) {
  return {{"value", number.value}, {"relative_error", number.error}};
}

[[nodiscard]] Json prediction_json(const ChainPrediction& prediction) {
  Json json{{"order", prediction.order}, {"reason", prediction.reason}, {"registers", prediction.registers}};
  json["products"] = Json::array();
  for (const ProductPrediction& of : prediction.products) {
    json["products"].push_back({{"name", of.name},
                                {"rows", of.rows},
                                {"cols", of.cols},
                                {"products", predicted_json(of.products)},
                                {"nnz", predicted_json(of.nnz)},
                                {"bytes", of.bytes},
                                {"peak_bytes", of.peak_bytes},
                                {"timings_ms",
                                 {{"analysis", of.analysis.ms},
                                  {"symbolic", of.symbolic.ms},
                                  {"numeric", of.numeric.ms},
                                  {"factor", of.total().factor}}}});
  }
  json["predict_ms"] = prediction.predict_ms;
  return json;
}

[[nodiscard]] std::string slices_text(const SlicedReport& sliced) {
  std::string text = fmt::format("{} of rows: {}", sliced.slices.size(), sliced.reason);
  if (sliced.splits > 0) text += fmt::format("; {} larger than foreseen and split", sliced.splits);
  return line("slices", text);
}

[[nodiscard]] std::string keep_text(const Keep& keep, offset_t dropped, offset_t nnz) {
  std::string rule = fmt::format("from {:.3g} times the largest of a row on", keep.tolerance);
  if (keep.most > 0) rule += fmt::format(", at most {} per row", keep.most);
  return line("kept", fmt::format("{}: {} of {} entries dropped", rule, dropped, nnz));
}

[[nodiscard]] Json slices_json(const SlicedReport& sliced) {
  Json list = Json::array();
  for (const SliceSize& slice : sliced.slices) {
    list.push_back({{"first_row", slice.first_row},
                    {"rows", slice.rows},
                    {"predicted_nnz", slice.predicted_nnz},
                    {"nnz", slice.nnz}});
  }
  return {{"reason", sliced.reason},
          {"limit_bytes", sliced.limit_bytes},
          {"splits", sliced.splits},
          {"predict_ms", sliced.predict_ms},
          {"list", std::move(list)}};
}

}  // namespace

std::string multiply_text(const MultiplyOutcome& outcome, std::size_t width) {
  std::string text = line("A", size_of(outcome, width));
  if (outcome.right) text += line("B", size_of(*outcome.right, width));
  if (outcome.prediction) text += prediction_text(*outcome.prediction);
  if (!outcome.order.empty()) text += line("order", fmt::format("{} ({})", outcome.order, outcome.order_reason));
  for (std::size_t k = 0; k < outcome.products.size(); ++k) {
    text += product_text(outcome.products[k]);
    if (outcome.keep) text += keep_text(*outcome.keep, outcome.dropped[k], outcome.products[k].nnz);
  }
  if (outcome.sliced) text += slices_text(*outcome.sliced);
  const std::string what = outcome.right ? "A B" : fmt::format("A^{}", outcome.power);
  text += line("result", fmt::format("{}: {} x {}, {} nonzeros{}", what, outcome.rows, outcome.cols, outcome.nnz,
                                     outcome.result_is_pattern ? ", pattern" : ""));
  if (outcome.check) {
    text += line("check", fmt::format("{}: |(AB)x - A(Bx)| is {:.2g} % of the rounding bound",
                                      outcome.check->passed() ? "passed" : "failed", 100.0 * outcome.check->error));
  }
  std::string times = fmt::format("read {}, multiply {}", time_text(outcome.read_ms), time_text(outcome.multiply_ms));
  if (outcome.download_ms > 0.0) times += fmt::format(", download {}", time_text(outcome.download_ms));
  if (outcome.prediction) times += fmt::format(", predict {}", time_text(outcome.prediction->predict_ms));
  if (outcome.check) times += fmt::format(", check {}", time_text(outcome.verify_ms));
  return text + line("time", times);
}

Json multiply_json(const MultiplyOutcome& outcome, const Options& options, const Invocation& invocation,
                   ExitCode code) {
  Json json = document_head("solve.spgemm/1", invocation);
  put_machine(json, outcome);
  json["config"] = config_json(options);
  json["matrix"] = matrix_json(outcome);
  json["right"] = outcome.right ? matrix_json(*outcome.right) : Json(nullptr);
  json["power"] = outcome.right ? Json(nullptr) : Json(outcome.power);
  json["order"] = outcome.order.empty() ? Json(nullptr) : Json(outcome.order);
  json["order_reason"] = outcome.order_reason.empty() ? Json(nullptr) : Json(outcome.order_reason);
  json["prediction"] = outcome.prediction ? prediction_json(*outcome.prediction) : Json(nullptr);
  json["products"] = Json::array();
  for (const SpgemmReport& report : outcome.products) json["products"].push_back(report_json(report));
  json["slices"] = outcome.sliced ? slices_json(*outcome.sliced) : Json(nullptr);
  json["keep"] = nullptr;
  if (outcome.keep) {
    json["keep"] = {{"tolerance", outcome.keep->tolerance}, {"most", outcome.keep->most}, {"dropped", outcome.dropped}};
  }
  json["check"] = nullptr;
  if (outcome.check) json["check"] = {{"passed", outcome.check->passed()}, {"error_over_bound", outcome.check->error}};
  json["result"] = {{"status", outcome.check && !outcome.check->passed() ? "wrong" : "multiplied"},
                    {"rows", outcome.rows},
                    {"cols", outcome.cols},
                    {"nnz", outcome.nnz},
                    {"pattern", outcome.result_is_pattern},
                    {"exit_code", static_cast<int>(code)}};
  json["timings_ms"] = {{"read", outcome.read_ms},
                        {"multiply", outcome.multiply_ms},
                        {"download", outcome.download_ms},
                        {"verify", outcome.verify_ms},
                        {"write", outcome.write_ms}};
  json["warnings"] = warnings_json(outcome.warnings);
  return json;
}

}  // namespace tessera::cli
