/// \file
/// Predicted times of kernels and the figures they are made of, as text and JSON.
#include "predicted_report.hpp"

#include "summary_text.hpp"

#include <fmt/format.h>

namespace tessera::cli {

std::string source_text(const DeviceFigures& figures) {
  std::string text(to_string(figures.source));
  if (!figures.date.empty()) text += " on " + figures.date;
  return text;
}

std::string figures_text(const DeviceFigures& figures) {
  return fmt::format(
      "copies {:.4g} GB/s, second-level cache {:.4g} GB/s, gathers per ns {:.3g} from it and {:.3g} from memory, "
      "launch {:.3g} us, latency {:.3g} ns ({})",
      figures.copy_gbytes_per_s, figures.l2_gbytes_per_s, figures.l2_gathers_per_ns, figures.memory_gathers_per_ns,
      figures.launch_us, figures.latency_ns, source_text(figures));
}

std::string predictions_text(const KernelPredictions& predictions) {
  std::string text;
  for (const detail::PredictedProduct& each : predictions.kernels) {
    text += fmt::format("{}{} {} ({:.3g} B{})", text.empty() ? "" : ", ", to_string(each.algorithm), time_text(each.ms),
                        each.bytes_per_nonzero, text.empty() ? " per nonzero" : "");
  }
  return fmt::format("{}; figures {}", text, source_text(predictions.figures));
}

Json figures_json(const DeviceFigures& figures) {
  Json json;
  json["source"] = to_string(figures.source);
  json["date"] = figures.date.empty() ? Json(nullptr) : Json(figures.date);
  json["multiprocessors"] = figures.multiprocessors;
  put_number(json, "l2_bytes", figures.l2_bytes);
  put_number(json, "copy_gbytes_per_s", figures.copy_gbytes_per_s);
  put_number(json, "l2_gbytes_per_s", figures.l2_gbytes_per_s);
  put_number(json, "memory_gathers_per_ns", figures.memory_gathers_per_ns);
  put_number(json, "l2_gathers_per_ns", figures.l2_gathers_per_ns);
  put_number(json, "launch_us", figures.launch_us);
  put_number(json, "latency_ns", figures.latency_ns);
  return json;
}

Json predictions_json(const KernelPredictions& predictions) {
  Json json;
  json["figures"] = figures_json(predictions.figures);
  json["kernels"] = Json::array();
  for (const detail::PredictedProduct& each : predictions.kernels) {
    Json kernel;
    kernel["kernel"] = to_string(each.algorithm);
    put_number(kernel, "predicted_ms", each.ms);
    put_number(kernel, "bytes_per_nonzero", each.bytes_per_nonzero);
    json["kernels"].push_back(std::move(kernel));
  }
  return json;
}

}  // namespace tessera::cli
