/// Whole outputs against files in golden/: standard output, standard error and exit code of a command line, with times,
/// residuals and facts of the machine replaced. TESSERA_UPDATE_GOLDEN=1 writes the files anew; read the difference.

#include "solve_process.hpp"

#include "option_table.hpp"

#include <cstdlib>
#include <regex>

namespace tessera::testing {

namespace {

struct Golden {
  std::string name;
  std::string line;
};

void PrintTo(const Golden& golden, std::ostream* stream) { *stream << golden.line; }

/// Numbers that another machine or compiler may change.
[[nodiscard]] std::string normalised(std::string text) {
  static const std::vector<std::pair<std::regex, std::string>> replacements{
      {std::regex(R"(\d+(\.\d+)? (ms|s)\b)"), "TIME"},
      {std::regex(R"(after \d+ iterations?, \d+ products?)"), "after N iterations, N products"},
      {std::regex(R"(\d\.\d+e[-+]\d\d\b)"), "NUMBER"},
      {std::regex(R"(sum( +)[0-9.e-]+ over)"), "sum$1NUMBER over"},
      {std::regex(R"(solve \(Tessera\) .*)"), "solve (Tessera) VERSION"},
      {std::regex(R"(\[(host|cuda|host, cuda|not in this build)\])"), "[devices]"},
      {std::regex(R"(gpu cuda:.*\n)"), ""},
      // Progress is shown after half a second, which a busy machine may need.
      {std::regex(R"(.*  elapsed \d+:\d\d.*\n)"), ""}};
  text = without_reason(text);
  for (const auto& [pattern, replacement] : replacements) text = std::regex_replace(text, pattern, replacement);
  return text;
}

using Json = nlohmann::ordered_json;

void flatten(Json& value, const std::string& key);

void flatten_members(Json& object) {
  for (auto& [key, value] : object.items()) flatten(value, key);
}

/// Keeps names, order, types and what follows from the command line alone.
void flatten(Json& value, const std::string& key) {
  static const std::vector<std::string> measured{"timings_ms",
                                                 "derived",
                                                 "residual",
                                                 "history",
                                                 "build_ms",
                                                 "upload_ms",
                                                 "iterations",
                                                 "spmv_count",
                                                 "precond_count",
                                                 "error_vs_known",
                                                 "peak_resident",
                                                 "change",
                                                 "sum",
                                                 "rank",
                                                 "total_rows",
                                                 "threads",
                                                 "setup_ms",
                                                 "setup_times_ms",
                                                 "spectral_radius",
                                                 "solve_ms",
                                                 "analysis_ms",
                                                 "ms",
                                                 "relative_residual",
                                                 "backward_error",
                                                 "error_estimate",
                                                 "relative_error_vs_known"};
  static const std::vector<std::string> varying{"host", "cpu",        "version", "commit",  "compiler", "cuda",
                                                "type", "build_type", "flags",   "started", "gpus",     "devices"};
  const auto among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), key) != names.end();
  };
  if (key == "rows" && value.is_array()) {
    value = Json::array({value.empty() ? Json(nullptr) : Json(value.front().size())});
  } else if (among(measured) && value.is_object()) {
    for (auto& [name, member] : value.items()) {
      if (member.is_number() || member.is_null()) member = 1.0;
      if (name == "rows") flatten(member, name);
    }
  } else if (among(measured) && value.is_number()) {
    value = 1;
  } else if (among(varying)) {
    value = "";
  } else if (value.is_string()) {
    value = normalised(value.get<std::string>());
  } else if (key == "command" && value.is_array()) {
    value.front() = "solve";
  } else if (value.is_object()) {
    flatten_members(value);
  } else if (value.is_array()) {
    for (Json& element : value) flatten(element, "");
  }
}

[[nodiscard]] std::string shown(const std::string& stream) {
  if (!stream.starts_with("{")) return normalised(stream);
  Json document = Json::parse(stream);
  flatten_members(document);
  return document.dump(2) + "\n";
}

[[nodiscard]] std::vector<Golden> golden_cases() {
  std::vector<Golden> cases{
      {"run", "--poisson3d 20 --threads 2"},
      {"run-options", "A.mtx -m bicgstab -p none -b ones -k merbit --plan-info"},
      {"run-warning", "twice.mtx"},
      {"run-json", "A.mtx --json -b unit:2 -s dtol=1e6 --threads 2"},
      {"run-json-failed", "big.mtx --json -m bicgstab --threads 2"},
      {"run-amg", "--poisson3d 20 -p amg --precond-opt smoother=spai0 --threads 2"},
      {"run-amg-json", "--poisson3d 12 -p amg --json --threads 2"},
      {"run-vector", "A.mtx -o - -p none"},
      {"run-least-squares", "wide.mtx -b ones --damp 0.5"},
      {"run-least-squares-json", "wide.mtx -b ones -m cgls -p jacobi --json --threads 2"},
      {"run-not-converged", "--poisson3d 12 --max-iters 3"},
      {"run-breakdown", "-m cg indefinite.mtx -b b.mtx"},
      {"run-beyond-precision", "A.mtx --rtol 1e-18"},
      {"pagerank", "pagerank web.mtx --top 2"},
      {"pagerank-json", "pagerank web.mtx --json --threads 2"},
      {"pagerank-not-converged", "pagerank web.mtx --max-iters 2 --top 0"},
      {"inspect", "inspect A.mtx --threads 2"},
      {"spgemm", "spgemm A.mtx --verify --threads 2"},
      {"spgemm-power", "spgemm web.mtx --power 3 --estimate exact --threads 2"},
      {"spgemm-json", "spgemm A.mtx wide4.mtx --json --threads 2"},
      {"error-sizes", "spgemm A.mtx wide.mtx"},
      {"list", "list"},
      {"list-json", "list --json"},
      {"version", "--version"},
      {"version-json", "--version --json"},
      {"print-config", "A.mtx --rtol 1e-10 -s seed=7 -v --print-config"},
      {"print-config-pagerank", "pagerank web.mtx --tol-per-node 1e-9 --print-config"},
      {"error-nothing", ""},
      {"error-option", "--poisson3d 4 --rtoll 1"},
      {"error-value", "--poisson3d 4 --rtol abc"},
      {"error-choice", "--poisson3d 4 --method bicgstb"},
      {"error-missing-value", "--poisson3d 4 --rtol"},
      {"error-empty-json", "A.mtx --json="},
      {"error-other-command", "--poisson3d 4 --damping 0.5"},
      {"error-key", "A.mtx -c bad-key.toml"},
      {"error-config-value", "A.mtx -c bad-value.toml"},
      {"error-config-syntax", "A.mtx -c broken.toml"},
      {"error-missing-file", "missing.mtx"},
      {"error-format", "broken.mtx"},
      {"error-rectangular", "wide.mtx -m cg"},
      {"error-diagonal", "hole.mtx -p jacobi"},
      {"error-output", "A.mtx -o no/such/place/x.mtx"},
      {"error-memory", "--poisson3d 100 --mem-limit 1MiB"},
      {"error-device", "--poisson3d 4 --device cuda:63"},
  };
  for (const cli::Command command : cli::commands()) {
    const std::string name(to_string(command));
    cases.push_back({"help-" + name, name + " --help"});
  }
  return cases;
}

class GoldenTest : public SolveTest, public ::testing::WithParamInterface<Golden> {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    const std::string real = "%%MatrixMarket matrix coordinate real ";
    file("A.mtx", laplace4);
    file("web.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 5\n1 2\n2 3\n3 1\n1 4\n3 4\n");
    file("twice.mtx", real + "general\n2 2 3\n1 1 1\n1 1 1\n2 2 1\n");
    file("big.mtx", real + "general\n2 2 4\n1 1 1e308\n1 2 1e308\n2 1 1e308\n2 2 1e300\n");
    file("indefinite.mtx", real + "symmetric\n2 2 3\n1 1 1\n2 2 1\n2 1 2\n");
    file("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n-1\n");
    file("broken.mtx", real + "general\n2 2 2\n1 1 1\n2 2\n");
    file("wide.mtx", real + "general\n2 3 1\n1 1 1\n");
    file("wide4.mtx", real + "general\n4 5 3\n1 5 1\n3 2 -1\n4 1 2\n");
    file("hole.mtx", real + "general\n2 2 2\n1 1 1\n1 2 1\n");
    file("bad-key.toml", "rtol = 1e-3\nmax-iter = 5\n");
    file("bad-value.toml", "# a comment\nprecond = \"jacoby\"\n");
    file("broken.toml", "rtol = 1e-3\nmax-iters = = 5\n");
  }
};

TEST_P(GoldenTest, IsAsRecorded) {
  const auto result = run(GetParam().line);
  std::string text = "$ solve " + GetParam().line + "\nexit code " + std::to_string(result.exit_code) + "\n";
  text += "-- standard output\n" + shown(result.out) + "-- standard error\n" + shown(result.err);
  const std::filesystem::path golden =
      std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/apps/golden" / (GetParam().name + ".txt");
  if (std::getenv("TESSERA_UPDATE_GOLDEN") != nullptr) std::ofstream(golden, std::ios::binary) << text;
  EXPECT_EQ(text, contents(golden)) << golden;
}

INSTANTIATE_TEST_SUITE_P(Outputs, GoldenTest, ::testing::ValuesIn(golden_cases()), [](const auto& golden) {
  std::string name = golden.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// A golden file without a case would never fail.
TEST(GoldenFiles, AreAllCompared) {
  std::vector<std::string> names;
  for (const Golden& golden : golden_cases()) names.push_back(golden.name);
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/tests/apps/golden")) {
    EXPECT_NE(std::find(names.begin(), names.end(), entry.path().stem().string()), names.end()) << entry.path();
  }
}

}  // namespace

}  // namespace tessera::testing
