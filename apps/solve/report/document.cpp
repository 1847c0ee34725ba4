// Documents as a report reads them.
#include "report/document.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>

namespace tessera::cli::report {

const Json* find(const Json& json, std::string_view path) {
  const Json* place = &json;
  while (!path.empty()) {
    const std::string key(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(key.size() + 1, path.size()));
    if (!place->is_object()) return nullptr;
    const auto member = place->find(key);
    if (member == place->end() || member->is_null()) return nullptr;
    place = &*member;
  }
  return place;
}

double number_at(const Json& json, std::string_view path) {
  const Json* value = find(json, path);
  return value != nullptr && value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string text_at(const Json& json, std::string_view path) {
  const Json* value = find(json, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

const Json& array_at(const Json& json, std::string_view path) {
  static const Json none = Json::array();
  const Json* value = find(json, path);
  return value != nullptr && value->is_array() ? *value : none;
}

bool is_true_at(const Json& json, std::string_view path) {
  const Json* value = find(json, path);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::string kind_of(const Document& document) {
  const std::string schema = text_at(document.json, "schema");
  const std::size_t dot = schema.find('.');
  return dot == std::string::npos ? std::string() : schema.substr(dot + 1, schema.find('/') - dot - 1);
}

std::string matrix_name(const Json& json) {
  const std::string path = text_at(json, "matrix/path");
  return (path.empty() ? text_at(json, "matrix/generator") : path) +
         (is_true_at(json, "matrix/transposed") ? ", transposed" : "");
}

std::string command_line(const Json& json) {
  std::string line;
  for (const Json& word : array_at(json, "command")) {
    if (!word.is_string()) continue;
    const auto text = word.get<std::string>();
    line += line.empty() ? std::filesystem::path(text).filename().string() : " " + text;
  }
  return line;
}

std::string subject_of(const Document& document) {
  std::string kind = kind_of(document);
  if (kind != "run") return kind;
  const std::string precond = text_at(document.json, "result/precond");
  const std::string method = text_at(document.json, "result/method");
  return method + (precond.empty() || precond == "none" ? std::string() : " with " + precond);
}

std::vector<std::string> labels_of(const std::vector<Document>& documents) {
  std::vector<std::string> labels;
  std::set<std::string> matrices;
  for (const Document& document : documents) matrices.insert(matrix_name(document.json));
  for (const Document& document : documents) {
    const std::string matrix = matrices.size() > 1 ? matrix_name(document.json) : std::string();
    labels.push_back(subject_of(document) + (matrix.empty() ? "" : " on " + matrix));
  }
  const std::vector<std::function<std::string(const Document&)>> attributes{
      [](const Document& each) { return text_at(each.json, "plan/kernel"); },
      [](const Document& each) {
        const std::string gpu = text_at(each.json, "machine/gpu/name");
        return gpu.empty() ? text_at(each.json, "machine/cpu") : gpu;
      },
      [](const Document& each) { return text_at(each.json, "config/precision/value"); },
      [](const Document& each) { return each.file; }};
  for (const auto& attribute : attributes) {
    const std::vector<std::string> before = labels;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::string mine = attribute(documents[i]);
      for (std::size_t j = 0; j < labels.size(); ++j) {
        if (before[j] != before[i] || attribute(documents[j]) == mine) continue;
        labels[i] += ", " + mine;
        break;
      }
    }
  }
  return labels;
}

std::string as_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

bool has_failed(const Json& json) {
  const double code = number_at(json, "result/exit_code");
  const std::string status = text_at(json, "result/status");
  // --exit-zero makes every code 0.
  const bool is_solve = find(json, "result/iterations") != nullptr;
  return (std::isfinite(code) && code != 0.0) || (is_solve && !status.empty() && status != "converged");
}

}  // namespace tessera::cli::report
