// solve report: documents of --json as one page.
#include "commands.hpp"
#include "errors.hpp"
#include "outputs.hpp"
#include "report/report_page.hpp"
#include "summary_text.hpp"

#include "support/json_reader.hpp"
#include "tessera/text_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace tessera::cli {

namespace {

using report::Document;

constexpr std::array<std::string_view, 12> kinds{"run",     "pagerank", "centrality", "compare",
                                                 "inspect", "convert",  "spgemm",     "dry-run",
                                                 "doctor",  "list",     "version",    "scoreboard"};

/// \throws UsageError for JSON that is no document of this version of the program
[[nodiscard]] Document read_document(const std::string& path) {
  Document document{path, support::read_json(path)};
  const std::string schema = report::text_at(document.json, "schema");
  if (schema.empty()) {
    throw UsageError(fmt::format("{}: this is no document of solve --json: it has no schema", path),
                     "solve run --json=FILE writes one");
  }
  const bool is_known = std::any_of(kinds.begin(), kinds.end(),
                                    [&](std::string_view kind) { return schema == fmt::format("solve.{}/1", kind); });
  if (!is_known) {
    throw UsageError(fmt::format(R"({}: its schema is "{}", which this version does not know)", path, schema),
                     fmt::format("known: solve.KIND/1 with KIND one of {}", fmt::join(kinds, ", ")));
  }
  return document;
}

}  // namespace

ExitCode report_command(const Options& options) {
  const std::vector<std::string>& files = options.words();
  if (files.empty()) throw UsageError("no document given", "solve A.mtx --json=run.json writes one");
  const auto out = options.text("output");
  if (!out) throw UsageError("report needs the name of the page", "add -o report.html");
  const std::string suffix = std::filesystem::path(*out).extension().string();
  if (!suffix.empty() && suffix != ".html" && suffix != ".htm") {
    throw UsageError(fmt::format("--output {}: files of that suffix are not written", *out),
                     "the name of a page ends in .html");
  }
  OutputSettings outputs;
  outputs.vector = *out;
  check_outputs(outputs, files);
  std::vector<Document> documents;
  documents.reserve(files.size());
  for (const std::string& file : files) documents.push_back(read_document(file));
  const std::string page = report_page(documents);
  if (*out == "-") {
    write_stdout(page);
  } else {
    write_text_file(*out, page);
    show(line("wrote", fmt::format("{}: {}, {}", *out, counted(static_cast<std::int64_t>(files.size()), "document"),
                                   size_text(page.size()))));
  }
  return ExitCode::success;
}

}  // namespace tessera::cli
