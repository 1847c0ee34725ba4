/// \file
/// Documents of solve --json as a report reads them. What is missing, or of another type than the schema says, counts
/// as not there: a report shows what it finds.
#pragma once

#include "support/json_text.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli::report {

using support::Json;

struct Document {
  std::string file;  ///< as the command line names it; empty for the run that is just over
  Json json;
};

/// What `json` holds at "result/residual/true"; nullptr where there is nothing or null.
[[nodiscard]] const Json* find(const Json& json, std::string_view path);
/// NaN where there is no number.
[[nodiscard]] double number_at(const Json& json, std::string_view path);
/// Empty where there is no text.
[[nodiscard]] std::string text_at(const Json& json, std::string_view path);
/// An empty array where there is none.
[[nodiscard]] const Json& array_at(const Json& json, std::string_view path);
[[nodiscard]] bool is_true_at(const Json& json, std::string_view path);

/// "run", of schema "solve.run/1".
[[nodiscard]] std::string kind_of(const Document& document);
/// File or generator.
[[nodiscard]] std::string matrix_name(const Json& json);
/// The command line without the folders of the program.
[[nodiscard]] std::string command_line(const Json& json);
/// "cg with amg", "pagerank", "compare".
[[nodiscard]] std::string subject_of(const Document& document);
/// A name for each document: its subject, with the matrix, kernel, device, precision or file where documents differ in
/// them.
[[nodiscard]] std::vector<std::string> labels_of(const std::vector<Document>& documents);

/// "gpu to gpu", of gpu_to_gpu.
[[nodiscard]] std::string as_words(std::string name);

/// The exit code that the document holds says that something went wrong.
[[nodiscard]] bool has_failed(const Json& json);

}  // namespace tessera::cli::report
