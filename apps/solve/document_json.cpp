// JSON of every command: head, machine, options, matrix, plan, memory and warnings.
#include "option_values.hpp"
#include "report_json.hpp"

#include "support/machine.hpp"
#include "tessera/version.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

[[nodiscard]] Json typed_value(ValueKind kind, const std::string& text) {
  switch (kind) {
    case ValueKind::count:
      if (const auto value = parse_count(text)) return *value;
      break;
    case ValueKind::number:
      if (const auto value = parse_number(text)) return *value;
      break;
    case ValueKind::seconds:
      if (const auto value = parse_seconds(text)) return *value;
      break;
    case ValueKind::bytes:
      if (const auto value = parse_bytes(text)) return *value;
      break;
    case ValueKind::flag:
    case ValueKind::text:
      break;
  }
  return text;
}

[[nodiscard]] Json stream_json(const StreamInfo& stream) {
  Json json;
  json["slices"] = stream.slices;
  json["resident_slices"] = stream.resident_slices;
  json["slice_bytes"] = stream.slice_bytes;
  json["bytes_per_product"] = stream.bytes_per_product;
  json["page_locked_bytes"] = stream.page_locked_bytes;
  put_number(json, "bytes_per_s", stream.bytes_per_second);
  put_number(json, "predicted_ms", stream.predicted_ms);
  return json;
}

}  // namespace

Json common_json(const std::string& schema, const CommonOutcome& outcome, const Options& options,
                 const Invocation& invocation) {
  Json json = document_head(schema, invocation);
  put_machine(json, outcome);
  json["matrix"] = matrix_json(outcome);
  json["config"] = config_json(options);
  json["plan"] = plan_json(outcome.plan);
  return json;
}

Json matrix_json(const CommonOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  Json json;
  json[outcome.from_file ? "path" : "generator"] = outcome.problem;
  json["transposed"] = outcome.transposed;
  json["rows"] = m.rows;
  json["cols"] = m.cols;
  json["nnz"] = m.nnz;
  json["index_bits"] = 8 * sizeof(index_t);
  json["value"] = outcome.pattern ? "pattern" : (outcome.precision == Precision::fp64 ? "fp64" : "fp32");
  json["symmetric"] = m.symmetry == Symmetry::numerical;
  json["max_row_nnz"] = m.max_row_nnz;
  put_number(json, "mean_row_nnz", m.mean_row_nnz);
  put_number(json, "gini_row_nnz", m.gini_row_nnz);
  json["empty_rows"] = m.empty_rows;
  json["log2_row_histogram"] = m.row_length_histogram;
  json["duplicates_merged"] = outcome.duplicates;
  if (outcome.cache) {
    const CacheUse& cache = *outcome.cache;
    json["cache"] = {
        {"path", cache.path}, {"from_cache", cache.from_cache}, {"written", cache.written}, {"note", cache.note}};
  }
  if (outcome.density) json["density"] = spy_json(outcome.density);
  return json;
}

Json spy_json(const std::optional<SpyGrid>& grid) {
  if (!grid) return nullptr;
  Json counts = Json::array();
  for (int r = 0; r < grid->rows; ++r) {
    const auto begin = grid->counts.begin() + static_cast<std::ptrdiff_t>(r) * grid->cols;
    counts.push_back(std::vector<offset_t>(begin, begin + grid->cols));
  }
  return {{"rows", grid->rows}, {"cols", grid->cols}, {"counts", std::move(counts)}};
}

Json plan_json(const PlanInfo& plan) {
  Json json;
  json["kernel"] = to_string(plan.algorithm);
  json["reason"] = plan.reason;
  json["bytes"] = plan.bytes;
  put_number(json, "build_ms", plan.build_ms);
  put_number(json, "upload_ms", plan.upload_ms);
  json["determinism"] = to_string(plan.determinism);
  json["tiles"] = plan.tiles;
  json["sigma"] = plan.sigma;
  json["descriptor_bits"] = plan.descriptor_bits;
  if (plan.stream) json["stream"] = stream_json(*plan.stream);
  return json;
}

Json memory_json(const MemoryUse& memory) {
  Json json;
  json["matrix"] = memory.matrix;
  json["plan"] = memory.plan;
  json["vectors"] = memory.vectors;
  json["precond"] = memory.precond;
  json["peak_resident"] = support::peak_resident_bytes();
  return json;
}

Json warnings_json(const Warnings& warnings) {
  Json json = Json::array();
  for (const Warning& warning : warnings) json.push_back({{"code", warning.code}, {"text", warning.text}});
  return json;
}

void put_machine(Json& json, const CommonOutcome& outcome) {
  json["machine"]["gpu"] = support::gpu_json(outcome.device);
  if (!outcome.device_reason.empty()) json["machine"]["device_reason"] = outcome.device_reason;
  json["machine"]["threads"] = outcome.threads;
  json["machine"]["threads_reason"] = default_host_threads().reason;
}

Json document_head(const std::string& schema, const Invocation& invocation) {
  const BuildInfo build = build_info();
  Json json;
  json["schema"] = schema;
  json["tool"] = {
      {"name", "solve"},
      {"version", build.version},
      {"commit", build.commit},
      {"build",
       {{"compiler", build.compiler}, {"cuda", build.cuda}, {"type", build.build_type}, {"flags", build.flags}}}};
  json["command"] = invocation.arguments;
  json["started"] = invocation.started;
  json["machine"] = {{"host", support::host_name()}, {"cpu", support::cpu_name()}, {"gpu", nullptr}};
  return json;
}

Json config_json(const Options& options) {
  Json json = Json::object();
  const auto put = [&](std::string_view name, Json value) {
    Json item{{"value", std::move(value)}, {"source", options.source(name)}};
    const Setting* setting = options.setting(name);
    if (setting != nullptr && !setting->place.empty()) item["place"] = setting->place;
    json[std::string(name)] = std::move(item);
  };
  // The command is what this run makes of its words and its method, whether or not it was named.
  json["command"] = {{"value", to_string(options.command())}, {"source", "command line"}};
  if (options.setting("matrix") != nullptr) put("matrix", options.words().front());
  for (const OptionSpec& spec : option_table()) {
    if (!uses(options.command(), spec) || !is_configurable(spec)) continue;
    if (spec.kind == ValueKind::flag) {
      put(spec.name, spec.name == "verbose" ? Json(options.flag_count(spec.name)) : Json(options.flag(spec.name)));
      continue;
    }
    const auto text = options.text(spec.name);
    put(spec.name, text ? typed_value(spec.kind, *text) : Json(nullptr));
  }
  return json;
}

}  // namespace tessera::cli
