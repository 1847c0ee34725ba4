#include "commands.hpp"
#include "errors.hpp"
#include "outputs.hpp"
#include "precond_keys.hpp"
#include "precond_spec.hpp"
#include "report_json.hpp"

#include "tessera/device.hpp"
#include "tessera/generators.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/matrix_file.hpp"
#include "tessera/nearest.hpp"
#include "tessera/spmv.hpp"
#include "tessera/text_file.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

struct ListItem {
  std::string name;
  std::string description;
  Json facts = Json::object();          ///< for programs, beside name and description
  std::vector<std::string> lines = {};  ///< below it, for people
  std::string shown_name = {};          ///< in place of `name`, for people
};

struct Topic {
  std::string name;
  std::vector<ListItem> entries;
};

[[nodiscard]] Json parameter_json(const GeneratorParameter& parameter) {
  Json json{{"name", parameter.name}, {"description", parameter.description}};
  json["default"] = number_or_null(parameter.standard);
  json["least"] = number_or_null(parameter.least);
  json["most"] = number_or_null(parameter.most);
  json["whole"] = parameter.whole;
  return json;
}

/// "description; SIZE = rows, default 100; keep, seed".
[[nodiscard]] ListItem generator_entry(const GeneratorFamily& family) {
  ListItem entry{std::string(family.name), {}, Json::object()};
  std::string names;
  Json parameters = Json::array();
  for (const GeneratorParameter& parameter : family.parameters) {
    names += fmt::format("{}{}", names.empty() ? "; parameters " : ", ", parameter.name);
    parameters.push_back(parameter_json(parameter));
  }
  entry.description =
      fmt::format("{}; SIZE = {}, default {}{}", family.description, family.size_means, family.default_size, names);
  entry.facts["size_means"] = family.size_means;
  entry.facts["default_size"] = family.default_size;
  entry.facts["max_size"] = family.max_size;
  entry.facts["symmetric"] = family.symmetric;
  entry.facts["pattern"] = family.storage == ValueStorage::pattern;
  entry.facts["parameters"] = std::move(parameters);
  return entry;
}

/// "[host, cuda] description".
[[nodiscard]] ListItem kernel_entry(SpmvAlgorithm algorithm) {
  std::vector<std::string> devices;
  for (const auto& [kind, name] : {std::pair{Device::Kind::host, "host"}, std::pair{Device::Kind::cuda, "cuda"}}) {
    const auto offered = spmv_algorithms(kind);
    if (std::find(offered.begin(), offered.end(), algorithm) != offered.end()) devices.emplace_back(name);
  }
  const std::string places = devices.empty() ? "not in this build" : fmt::format("{}", fmt::join(devices, ", "));
  ListItem entry{std::string(to_string(algorithm)), fmt::format("[{}] {}", places, describe(algorithm)),
                 Json::object()};
  entry.facts["devices"] = devices;
  return entry;
}

/// Adds keys of --precond-opt to an entry.
void add_keys(std::span<const PrecondKey> keys, ListItem& entry) {
  Json json = Json::array();
  for (const PrecondKey& key : keys) {
    const std::string fallback = key.fallback.empty() ? "" : fmt::format(", default {}", key.fallback);
    entry.lines.push_back(fmt::format("{:<20}{} ({}{})", key.name, key.help, key.value, fallback));
    json.push_back({{"name", key.name}, {"value", key.value}, {"default", key.fallback}, {"description", key.help}});
  }
  entry.facts["options"] = std::move(json);
}

/// The name alone for programs, with the parameters for people.
[[nodiscard]] ListItem precond_entry(const PrecondForm& form) {
  ListItem entry{std::string(form.name), std::string(form.description), Json::object()};
  if (form.form != form.name) {
    entry.shown_name = form.form;
    entry.facts["form"] = form.form;
    entry.facts["takes"] = form.parameters;
  }
  if (form.name == "amg") {
    entry.description += ", with these keys of --precond-opt:";
    add_keys(amg_keys(), entry);
  }
  return entry;
}

/// The keys that all incomplete factors share stand below the last of them.
[[nodiscard]] Topic precond_topic() {
  Topic topic{"preconds", {}};
  for (const PrecondForm& form : precond_forms()) topic.entries.push_back(precond_entry(form));
  topic.entries.back().description += "; keys of --precond-opt for all incomplete factors:";
  add_keys(factor_keys(), topic.entries.back());
  return topic;
}

/// lsmr or cgls, with the facts of the other methods. \param vectors of the longer side, at most
[[nodiscard]] ListItem least_squares_entry(std::string name, std::string description, int vectors) {
  ListItem entry{std::move(name), std::move(description), Json::object()};
  entry.facts["matrix"] = to_string(MatrixClass::rectangular);
  entry.facts["products_with_a"] = 2.0;  // one of them with the transpose
  entry.facts["products_with_m"] = 1.0;
  entry.facts["vectors"] = vectors;
  entry.facts["restarts"] = false;
  return entry;
}

/// The iterative methods and those of least squares, with facts for programs, and the two that are none.
[[nodiscard]] Topic method_topic() {
  Topic topic{"methods", {}};
  for (const MethodInfo& method : iterative_methods()) {
    ListItem entry{std::string(method.name), std::string(method.description), Json::object()};
    entry.facts["matrix"] = to_string(method.matrix);
    entry.facts["products_with_a"] = method.products_with_a;
    entry.facts["products_with_m"] = method.products_with_m;
    entry.facts["vectors"] = method.vectors;
    entry.facts["restarts"] = method.restarts;
    topic.entries.push_back(std::move(entry));
  }
  topic.entries.push_back(
      least_squares_entry("lsmr", "LSMR, least squares for a matrix of any shape, damped by --damp", 14));
  topic.entries.push_back(
      least_squares_entry("cgls", "CGLS, the same by conjugate gradients on the normal equations", 11));
  topic.entries.push_back({"direct", "sparse factors of A on the host, and iterative refinement"});
  topic.entries.push_back({"pagerank", "the power method on the transition matrix of a graph"});
  return topic;
}

/// "edge-list [read] ...; .csv, .tsv".
[[nodiscard]] Topic format_topic() {
  Topic topic{"formats", {}};
  for (const MatrixFormatInfo& format : matrix_formats()) {
    const bool reads = format.reads_matrices || format.reads_vectors;
    const bool writes = format.writes_matrices || format.writes_vectors;
    const std::string_view use = !format.available ? "not in this build" : reads && writes ? "read, write" : "read";
    const std::vector<std::string> suffixes = alternatives(format.suffixes);
    ListItem entry{std::string(format.name),
                   fmt::format("[{}] {} ({})", use, format.description, fmt::join(suffixes, " ")), Json::object()};
    entry.facts["description"] = format.description;
    entry.facts["suffixes"] = suffixes;
    entry.facts["available"] = format.available;
    entry.facts["reads"] = {{"matrices", format.reads_matrices}, {"vectors", format.reads_vectors}};
    entry.facts["writes"] = {{"matrices", format.writes_matrices}, {"vectors", format.writes_vectors}};
    topic.entries.push_back(std::move(entry));
  }
  return topic;
}

[[nodiscard]] std::vector<Topic> all_topics() {
  Topic kernels{"kernels", {}};
  for (const SpmvAlgorithm algorithm : known_spmv_algorithms()) kernels.entries.push_back(kernel_entry(algorithm));
  Topic generators{"generators", {}};
  for (const GeneratorFamily& family : generator_families()) generators.entries.push_back(generator_entry(family));
  return {
      method_topic(), precond_topic(), std::move(kernels), format_topic(), std::move(generators),
  };
}

[[nodiscard]] std::vector<Topic> chosen_topics(const Options& options) {
  std::vector<Topic> topics = all_topics();
  if (options.words().empty()) return topics;
  if (options.words().size() > 1) throw UsageError("list takes one topic");
  const std::string& wanted = options.words().front();
  std::vector<std::string> known;
  known.reserve(topics.size());
  for (const Topic& topic : topics) known.push_back(topic.name);
  for (Topic& topic : topics) {
    if (topic.name == wanted) return {std::move(topic)};
  }
  throw UsageError(fmt::format("list: expected one of {}, got \"{}\"", fmt::join(known, ", "), wanted),
                   did_you_mean(wanted, known));
}

[[nodiscard]] std::string list_text(const std::vector<Topic>& topics) {
  std::string text;
  for (const Topic& topic : topics) {
    if (topics.size() > 1) text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", topic.name);
    for (const ListItem& entry : topic.entries) {
      text += fmt::format("{:<20}{}\n", entry.shown_name.empty() ? entry.name : entry.shown_name, entry.description);
      for (const std::string& each : entry.lines) text += fmt::format("  {}\n", each);
    }
  }
  return text;
}

[[nodiscard]] std::string list_json(const std::vector<Topic>& topics) {
  Json json{{"schema", "solve.list/1"}};
  for (const Topic& topic : topics) {
    Json entries = Json::array();
    for (const ListItem& entry : topic.entries) {
      Json item{{"name", entry.name}, {"description", entry.description}};
      item.update(entry.facts);
      entries.push_back(std::move(item));
    }
    json[topic.name] = std::move(entries);
  }
  return document_text(json);
}

}  // namespace

ExitCode list_command(const Options& options) {
  const std::vector<Topic> topics = chosen_topics(options);
  const auto json = options.text("json");
  if (json && json != "-") {
    write_text_file(*json, list_json(topics));
  } else {
    json ? write_stdout(list_json(topics)) : show(list_text(topics));
  }
  return ExitCode::success;
}

ExitCode version_command(const Options& options) {
  const BuildInfo build = build_info();
  const CudaSurvey survey = survey_cuda();
  if (const auto json = options.text("json")) {
    Json gpus = Json::array();
    for (const CudaDeviceInfo& gpu : survey.devices) gpus.push_back(gpu.name);
    const Json document{{"schema", "solve.version/1"}, {"name", "solve"},
                        {"version", build.version},    {"commit", build.commit},
                        {"compiler", build.compiler},  {"build_type", build.build_type},
                        {"flags", build.flags},        {"cuda", build.cuda},
                        {"gpus", std::move(gpus)}};
    const std::string text = document_text(document);
    json == "-" ? write_stdout(text) : write_text_file(*json, text);
    return ExitCode::success;
  }
  std::string text = fmt::format("solve (Tessera) {} commit {}, {}, {}, CUDA {}\n", build.version, build.commit,
                                 build.compiler, build.build_type, build.cuda);
  for (const CudaDeviceInfo& gpu : survey.devices) text += fmt::format("gpu cuda:{}: {}\n", gpu.ordinal, gpu.name);
  show(text);
  return ExitCode::success;
}

}  // namespace tessera::cli
