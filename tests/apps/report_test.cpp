/// Pages of `solve report` and --report: held against their documents by an HTML parser, looked at by a browser; and
/// the history in the terminal.

#include "solve_process.hpp"
#include "tools.hpp"

#include "report/document.hpp"
#include "report/history_plot.hpp"
#include "report/report_page.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace tessera::testing {

namespace {

using Json = nlohmann::ordered_json;

class ReportTest : public SolveTest {
 protected:
  /// Runs the line with --json, makes the page of the document, and checks it. \returns the page
  [[nodiscard]] std::string page_of(const std::string& line, int exit_code = 0) const {
    const auto result = run(line + " --json=run.json --report direct.html");
    EXPECT_EQ(result.exit_code, exit_code) << line << result.err;
    return checked({"run.json"});
  }
  /// The page of documents of the directory, checked.
  [[nodiscard]] std::string checked(const std::vector<std::string>& documents) const {
    std::vector<std::string> arguments{"report"};
    arguments.insert(arguments.end(), documents.begin(), documents.end());
    arguments.insert(arguments.end(), {"-o", "page.html"});
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> check{"/usr/bin/env", TESSERA_PYTHON, TESSERA_SOURCE_DIR "/tests/apps/check_report.py",
                                   path("page.html")};
    for (const std::string& document : documents) check.push_back(path(document));
    const auto verdict = run_process(check);
    EXPECT_EQ(verdict.exit_code, 0) << verdict.out << verdict.err;
    return contents(path("page.html"));
  }
  void expect_refused(const std::string& line, int exit_code, const std::string& message) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, exit_code) << line << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(path("page.html"))) << line;
  }
};

[[nodiscard]] bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ReportTest, PagesShowTheirDocuments) {
  for (const char* line : {"--poisson2d 30 -m cg -p amg", "--poisson2d 20", "pagerank --powerlaw 300",
                           "pagerank --powerlaw 300 --personalize 1 --personalize 2", "hits --powerlaw 300",
                           "katz --powerlaw 300", "inspect --poisson2d 12", "spgemm --poisson2d 12 --predict --verify",
                           "compare --poisson2d 12 --kernels csr,merge --solvers cg --repeat 3 --cold"}) {
    SCOPED_TRACE(line);
    const std::string page = page_of(line);
    EXPECT_EQ(page, contents(path("direct.html"))) << "--report gives the page of solve report";
    EXPECT_TRUE(holds(page, R"(class="spy")"));
    EXPECT_TRUE(holds(page, "Row lengths"));
  }
}

TEST_F(ReportTest, OtherDocumentsAreShownToo) {
  std::vector<std::string> documents;
  for (const char* line : {"doctor", "list", "version", "--poisson2d 9 --dry-run", "convert --poisson2d 4 x.tsb"}) {
    documents.push_back("document" + std::to_string(documents.size()) + ".json");
    ASSERT_EQ(run(std::string(line) + " --json=" + documents.back()).exit_code, 0) << line;
    EXPECT_FALSE(checked({documents.back()}).empty());
  }
}

/// Several runs share the figure; the one that failed is the first thing said.
TEST_F(ReportTest, TheCauseOfAFailureComesFirst) {
  EXPECT_EQ(run("--convdiff 6 -m bicgstab --json=good.json").exit_code, 0);
  const std::string failed = page_of("--poisson2d 30 -m cg -p none --max-iters 7", 3);
  EXPECT_TRUE(holds(failed, "Try <code>solve "));
  const std::string page = checked({"good.json", "run.json"});
  const std::size_t cause = page.find("Not converged after");
  ASSERT_NE(cause, std::string::npos);
  for (const char* later : {"<table", "<figure", "Converged after"}) EXPECT_LT(cause, page.find(later)) << later;
  EXPECT_TRUE(holds(page, "cg on poisson2d 30 <em>(max_iterations)</em>"));
  EXPECT_TRUE(holds(page, "bicgstab with"));
}

TEST_F(ReportTest, TextIsEscaped) {
  const std::string name = R"(<script>alert('1')</script> & "b".mtx)";
  file("A.mtx", laplace4);
  ASSERT_EQ(run("A.mtx -p none --json=run.json").exit_code, 0);
  auto document = Json::parse(contents(path("run.json")));
  document["matrix"]["path"] = name;
  document["result"]["reason"] = name;
  document["result"]["status"] = "stagnated";
  document["warnings"] = {{{"code", name}, {"text", name}}};
  document["command"] = {"solve", name};
  for (const char* key : {"rhs", "precond", "method", "method_reason"}) document["result"][key] = name;
  document["machine"]["host"] = document["plan"]["kernel"] = document["tool"]["commit"] = name;
  document["config"][name] = {{"value", name}, {"source", "environment"}};
  file("run.json", document.dump());
  const std::string page = checked({"run.json"});
  EXPECT_FALSE(holds(page, "<script"));
  EXPECT_TRUE(holds(page, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;b&quot;.mtx"));
}

/// A long history keeps its ends and its extremes, which check_report.py finds in the drawing, below 1 MB for many.
TEST_F(ReportTest, LongHistoriesAreThinned) {
  ASSERT_EQ(run("--poisson2d 9 -m cg -p none --json=run.json").exit_code, 0);
  auto document = Json::parse(contents(path("run.json")));
  Json rows = Json::array();
  constexpr int iterations = 100'000;
  for (int i = 0; i <= iterations; ++i) {
    rows.push_back({i, 1e-6 * i, std::exp(-1e-4 * i) * (2.0 + std::sin(i)), nullptr});
  }
  rows[31'415][2] = 1e6;
  rows[77'777][2] = 1e-9;
  document["history"]["rows"] = std::move(rows);
  file("run.json", document.dump());
  std::vector<std::string> documents{"run.json"};
  EXPECT_LT(checked(documents).size(), 100'000U);
  documents.emplace_back("copy.json");
  std::filesystem::copy_file(path("run.json"), path("copy.json"));
  EXPECT_LT(checked(documents).size(), 200'000U);
}

/// What is missing, null or of another type is left out.
TEST_F(ReportTest, DocumentsMayLackAnything) {
  const std::vector<Json> others{nullptr, "text", -1e308, Json::array({1, "2"}), Json::object({{"a", 1}})};
  std::size_t next = 0;
  for (const char* line : {"--poisson2d 9 -p amg", "compare --poisson2d 5 --kernels csr --solvers cg --repeat 3",
                           "spgemm --poisson2d 5", "inspect --poisson2d 5"}) {
    ASSERT_EQ(run(std::string(line) + " --json=run.json").exit_code, 0);
    const auto document = Json::parse(contents(path("run.json")));
    const auto flat = document.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      if (pointer == "/schema") continue;
      auto changed = document;
      changed[Json::json_pointer(pointer)] = others[next++ % others.size()];
      EXPECT_FALSE(cli::report_page({{"", changed}}).empty()) << pointer;
    }
  }
  for (const char* kind :
       {"run", "pagerank", "compare", "inspect", "convert", "spgemm", "dry-run", "doctor", "list", "scoreboard"}) {
    file("run.json", R"({"schema": "solve.)" + std::string(kind) + R"(/1"})");
    EXPECT_TRUE(holds(checked({"run.json"}), "<h1>solve " + std::string(kind))) << kind;
  }
  file("run.json", R"({"schema": "solve.run/1", "history": {"rows": []}, "result": {"residual": {"b_norm": 0}}})");
  EXPECT_FALSE(holds(checked({"run.json"}), "<polyline"));
}

TEST_F(ReportTest, WhatIsNoDocumentIsRefused) {
  file("other.json", R"({"schema": "solve.run/2"})");
  file("none.json", R"({"a": 1})");
  file("list.json", "[]");
  file("broken.json", "{\n\"schema\": ");
  file("run.json", R"({"schema": "solve.run/1"})");
  expect_refused("report run.json other.json -o page.html", 2, R"(other.json: its schema is "solve.run/2")");
  expect_refused("report none.json -o page.html", 2, "none.json: this is no document of solve --json");
  expect_refused("report list.json -o page.html", 2, "list.json: this is no document of solve --json");
  expect_refused("report broken.json -o page.html", 5, "broken.json:2:11: not JSON");
  expect_refused("report missing.json -o page.html", 5, "cannot read missing.json: No such file or directory");
  expect_refused("report -o page.html", 2, "no document given");
  expect_refused("report run.json", 2, "report needs the name of the page");
  expect_refused("report run.json -o page.txt", 2, "--output page.txt: files of that suffix are not written");
  expect_refused("--poisson2d 4 --report page.json", 2, "--report page.json: files of that suffix are not written");
  expect_refused("--poisson2d 4 --report - --json", 2, "both want standard output");
  std::filesystem::copy_file(path("run.json"), path("run.html"));
  expect_refused("report run.html -o run.html", 2, "would overwrite an input");
}

TEST_F(ReportTest, GoesToStandardOutput) {
  const auto result = run("--poisson2d 4 --report - --json=run.json");
  EXPECT_TRUE(result.out.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(run("report run.json -o -").out, result.out);
}

TEST_F(ReportTest, IsReadableInABrowser) {
  TESSERA_NEED_TOOL("chromium", "chromium", "--version");
  EXPECT_EQ(
      run("compare --poisson2d 40 --kernels all --solvers cg --preconds jacobi,amg --repeat 3 --report compare.html")
          .exit_code,
      0);
  EXPECT_EQ(run("--poisson3d 16 -m cg -p amg --report multigrid.html").exit_code, 0);
  EXPECT_EQ(run("--convdiff 12 -m cg -p none --max-iters 500 --report failed.html").exit_code, 3);
  ProcessOptions patient;
  patient.timeout = std::chrono::seconds(300);
  const auto verdict =
      run_process({"/usr/bin/env", TESSERA_PYTHON, TESSERA_SOURCE_DIR "/tests/apps/browse_report.py", "chromium",
                   path(""), path("compare.html"), path("multigrid.html"), path("failed.html")},
                  patient);
  EXPECT_EQ(verdict.exit_code, 0) << verdict.out << verdict.err;
}

[[nodiscard]] std::vector<HistoryEntry> falling(int count, double factor) {
  std::vector<HistoryEntry> history(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    HistoryEntry& entry = history[static_cast<std::size_t>(i)];
    entry.iteration = i;
    entry.recurrence = std::pow(factor, i);
  }
  return history;
}

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A line that falls by a decade per iteration is the diagonal of the plane.
TEST(HistoryPlot, AStraightLineIsADiagonal) {
  const auto lines = lines_of(cli::history_plot(falling(12, 0.1), "||r||", 0.0, 9 + 12, false));
  ASSERT_EQ(lines.size(), 1 + 12 + 1U);
  EXPECT_TRUE(lines[1].starts_with("  1e+00 +"));
  EXPECT_TRUE(lines[12].starts_with("  1e-11 +"));
  std::size_t column = 0;
  for (std::size_t i = 1; i <= 12; ++i) {
    const std::size_t first = lines[i].find_first_of(".:'", 9);
    ASSERT_NE(first, std::string::npos) << lines[i];
    EXPECT_GE(first, column) << lines[i];
    column = first;
  }
  EXPECT_EQ(lines[1][9], '\'');
  EXPECT_EQ(lines[12].size(), 40U) << "the least width";
  EXPECT_TRUE(lines.back().ends_with(" 11"));
}

TEST(HistoryPlot, TakesUnicodeOrAscii) {
  const std::string ascii = cli::history_plot(falling(50, 0.7), "||r||", 1e-5, 80, false);
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }))
      << ascii;
  EXPECT_TRUE(holds(ascii, "dotted: 1.00e-05"));
  const std::string unicode = cli::history_plot(falling(50, 0.7), "||r||", 1e-5, 80, true);
  EXPECT_TRUE(holds(unicode, "\u2824") || holds(unicode, "\u2812") || holds(unicode, "\u2809")) << unicode;
  for (const std::string& line : lines_of(unicode)) {
    const auto characters = std::count_if(line.begin(), line.end(),
                                          [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    EXPECT_LE(characters, 80) << line;
  }
}

TEST(HistoryPlot, DrawsWhatIsThere) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(cli::history_plot({}, "||r||", 1e-8, 80, true), "plot        nothing to draw: ||r|| is never above 0\n");
  std::vector<HistoryEntry> history(3);
  EXPECT_TRUE(holds(cli::history_plot(history, "||r||", nan, 80, true), "nothing to draw"));
  history[1].recurrence = nan;
  history[2].recurrence = 1.0;
  EXPECT_EQ(lines_of(cli::history_plot(history, "||r||", nan, 80, false)).size(), 14U);
}

TEST_F(ReportTest, ThePlotGoesWhereTheSummaryGoes) {
  const auto plain = run("--poisson2d 9 --plot");
  EXPECT_TRUE(holds(plain.out, "plot        ||r|| by iteration; dotted: "));
  EXPECT_LT(plain.out.find("status "), plain.out.find("plot "));
  EXPECT_TRUE(holds(run("katz --powerlaw 300 --plot").out, "plot        largest term by iteration; dotted: "));
  EXPECT_TRUE(holds(run("hits --powerlaw 300 --plot").out, "plot        change by iteration; dotted: "));
  const auto json = run("--poisson2d 9 --plot --json");
  EXPECT_TRUE(Json::accept(json.out));
  EXPECT_TRUE(holds(json.err, "||r|| by iteration"));
  EXPECT_TRUE(holds(run("--poisson2d 9 --plot -q").out, "||r|| by iteration"));
  EXPECT_TRUE(holds(run("pagerank --powerlaw 64 --plot").out, "||x' - x|| by iteration; dotted: 1.00e-09"));
  EXPECT_FALSE(holds(run("--poisson2d 9").out, "by iteration"));
}

}  // namespace

}  // namespace tessera::testing
