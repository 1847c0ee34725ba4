/// Help, version and lists.

#include "solve_process.hpp"
#include "tools.hpp"

#include "option_table.hpp"

#include "tessera/iterative_solver.hpp"

#include <algorithm>
#include <sstream>

namespace tessera::testing {

namespace {

class HelpTest : public SolveTest {};

TEST_F(HelpTest, MentionsEveryOptionOfTheCommandAndFitsTheScreen) {
  for (const cli::Command command : cli::commands()) {
    const auto result = run({std::string(to_string(command)), "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(result.err.empty());
    for (const cli::OptionSpec& spec : cli::option_table()) {
      const bool mentioned = result.out.find("--" + std::string(spec.name)) != std::string::npos;
      if (uses(command, spec)) {
        EXPECT_TRUE(mentioned) << spec.name;
        if (!spec.fallback.empty()) {
          EXPECT_NE(result.out.find(std::string(spec.fallback) + ")"), std::string::npos) << spec.name;
        }
      }
    }
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST_F(HelpTest, ToleranceIsThatOfTheLibrary) {
  const cli::OptionSpec& spec = *cli::find_option("rtol");
  EXPECT_EQ(std::stod(std::string(spec.fallback)), default_tolerance<double>);
  EXPECT_EQ(std::stod(std::string(spec.fp32_fallback)), default_tolerance<float>);
  EXPECT_EQ(SolverOptions{}.relative_tolerance, default_tolerance<double>);
}

TEST_F(HelpTest, WithoutACommandIsThatOfRun) {
  EXPECT_EQ(run("--help").out, run("run --help").out);
  EXPECT_EQ(run("-h").out, run("run --help").out);
  EXPECT_EQ(run("--method pagerank --help").out, run("pagerank --help").out);
  EXPECT_NE(run("pagerank --help").out.find("--damping"), std::string::npos);
  EXPECT_EQ(run("pagerank --help").out.find("--rtol"), std::string::npos);
}

/// The command lines under "Examples:", without their comments.
[[nodiscard]] std::vector<std::string> examples_of(const std::string& help) {
  std::vector<std::string> lines;
  std::istringstream stream(help.substr(help.find("\nExamples:\n") + 1));
  for (std::string line; std::getline(stream, line);) {
    constexpr std::string_view start = "  solve ";
    if (!line.starts_with(start)) continue;
    // Three blanks begin a comment.
    lines.push_back(line.substr(start.size(), line.find("   ", start.size()) - start.size()));
  }
  return lines;
}

/// Each example of the help texts runs as it stands, by a shell, with small files of the names that it uses.
TEST_F(HelpTest, ExamplesAreAccepted) {
  file("b.mtx", "%%MatrixMarket matrix array real general\n4 1\n1\n1\n1\n1\n");
  file("web.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n3 1\n");
  file("b.txt", "1\n2\n3\n4\n");
  file("names.txt", "ann\nbob\ncyd\n");
  for (const char* name : {"A.mtx", "A.mtx.gz"}) file(name, laplace4);
  std::filesystem::copy_file(path("web.mtx"), path("web.mtx.gz"));
  int count = 0;
  for (const cli::Command command : cli::commands()) {
    if (command == cli::Command::convert) std::filesystem::remove(path("b.mtx"));  // which it will not replace
    for (const std::string& example : examples_of(run({std::string(to_string(command)), "--help"}).out)) {
      ProcessOptions options;
      options.directory = path("");
      const std::string script =
          "HOME=" + path("") +
          "; mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc ~/.config/fish/completions; jq() { cat; }; "
          "set -o pipefail; export SOLVE_REPEAT=3; " TESSERA_SOLVE_BINARY " " +
          example;
      const auto result = run_process({"/usr/bin/env", "bash", "-c", script}, options);
      // Times of a 4 x 4 matrix may well differ by more than an example allows.
      const bool slower = example.find("--fail-if-slower") != std::string::npos && result.exit_code == 8;
      // GPUs are hidden from the command.
      const bool no_gpu = example.find("--calibrate") != std::string::npos && result.exit_code == 7;
      EXPECT_TRUE(result.exit_code == 0 || slower || no_gpu) << example << "\n" << result.err;
      ++count;
    }
  }
  EXPECT_GE(count, 12);
}

TEST_F(HelpTest, HelpIsACommandToo) {
  EXPECT_EQ(run("help").out, run("--help").out);
  EXPECT_EQ(run("help compare").out, run("compare --help").out);
  const std::string rtol = run("help rtol").out;
  EXPECT_NE(rtol.find("--rtol X"), std::string::npos) << rtol;
  EXPECT_NE(rtol.find("run, compare"), std::string::npos) << rtol;
  EXPECT_EQ(run("help --rtol").out, rtol);
  EXPECT_EQ(run("help -b").out, run("help --rhs").out);
  const std::string codes = run("help exit-codes").out;
  for (const char* code : {"3 iteration or time limit", "8 a kernel", "130, 143"}) {
    EXPECT_NE(codes.find(code), std::string::npos) << codes;
  }
  const auto unknown = run("help --rtoll");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("did you mean --rtol?"), std::string::npos) << unknown.err;
  EXPECT_EQ(run("help compare run").exit_code, 2);
}

TEST_F(HelpTest, HelpBehindACommandIsHinted) {
  const auto result = run("pagerank help");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("hint: solve pagerank --help"), std::string::npos) << result.err;
  file("help", laplace4);
  EXPECT_EQ(run("run help").exit_code, 0) << "where there is such a file, it is meant";
}

/// Sections, every command and every option; a formatter finds nothing to say where there is one.
TEST_F(HelpTest, ManualPage) {
  const auto page = run("help man");
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_TRUE(page.out.starts_with(".TH SOLVE 1 "));
  for (const char* section : {"NAME", "SYNOPSIS", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"}) {
    EXPECT_NE(page.out.find(std::string(".SH ") + section + "\n"), std::string::npos) << section;
  }
  std::string typed = page.out;
  for (std::size_t at = 0; (at = typed.find("\\-", at)) != std::string::npos;) typed.erase(at, 1);
  for (const cli::Command command : cli::commands()) {
    EXPECT_NE(typed.find("\\fB" + std::string(to_string(command)) + "\\fR"), std::string::npos);
  }
  for (const cli::OptionSpec& spec : cli::option_table()) {
    EXPECT_NE(typed.find("--" + std::string(spec.name) + "\\fR"), std::string::npos) << spec.name;
  }
  file("solve.1", page.out);
  TESSERA_NEED_TOOL("groff", "groff", "--version");
  ProcessOptions options;
  options.directory = path("");
  const auto shown = run_process({"/usr/bin/env", "groff", "-man", "-ww", "-Tutf8", "solve.1"}, options);
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_TRUE(shown.err.empty()) << shown.err;
  EXPECT_NE(shown.out.find("--rtol"), std::string::npos) << "hyphens are those of a keyboard";
}

TEST_F(HelpTest, Version) {
  EXPECT_EQ(run("version").out, run("--version").out);
  EXPECT_EQ(run("version --json").out, run("--version --json").out);

  const auto text = run("--version");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_TRUE(text.out.starts_with("solve (Tessera) ")) << text.out;
  const auto json = nlohmann::json::parse(run("--version --json").out);
  EXPECT_NE(text.out.find(json["version"].get<std::string>()), std::string::npos);
  EXPECT_NE(text.out.find(json["commit"].get<std::string>()), std::string::npos);
}

TEST_F(HelpTest, ListsNameWhatOptionsAccept) {
  const auto json = nlohmann::json::parse(run("list --json").out);
  EXPECT_EQ(json["schema"], "solve.list/1");
  for (const auto& kernel : json["kernels"]) {
    const auto& devices = kernel["devices"];
    const bool on_host = std::find(devices.begin(), devices.end(), "host") != devices.end();
    const auto result = run({"--poisson2d", "5", "-k", kernel["name"], "--device", "host"});
    EXPECT_EQ(result.exit_code, on_host ? 0 : 2) << kernel << result.err;
    EXPECT_EQ(result.err.find("does not run on host") != std::string::npos, !on_host) << result.err;
    EXPECT_FALSE(kernel["description"].get<std::string>().empty());
  }
  for (const auto& precond : json["preconds"]) {
    const std::string name = precond["name"];
    const auto result = run({"--poisson2d", "5", "-p", name == "bjacobi" ? "bjacobi:2" : name});
    EXPECT_EQ(result.exit_code, 0) << name << result.err;
  }
  EXPECT_EQ(json["methods"].size(), iterative_methods().size() + 4) << "direct, lsmr, cgls and pagerank";
  ASSERT_GE(json["generators"].size(), 14U);
  for (const auto& family : json["generators"]) {
    const std::string spec = family["name"].get<std::string>() + ":64";
    EXPECT_EQ(run({"inspect", "--generate", spec, "--json"}).exit_code, 0) << spec;
  }
  EXPECT_NE(run("list kernels").out.find("merbit"), std::string::npos);
}

TEST_F(HelpTest, DoctorAsJson) {
  const auto json = nlohmann::json::parse(run("doctor --json").out);
  EXPECT_EQ(json["schema"], "solve.doctor/1");
  EXPECT_EQ(json["result"]["status"], "healthy");
  const auto kernels = nlohmann::json::parse(run("list kernels --json").out)["kernels"];
  std::string names;
  for (const auto& check : json["self_test"]) {
    EXPECT_TRUE(check["passed"]) << check;
    names += check["name"].get<std::string>() + "\n";
  }
  for (const auto& kernel : kernels) {
    const auto& devices = kernel["devices"];
    if (std::find(devices.begin(), devices.end(), "host") == devices.end()) continue;
    const std::string name = kernel["name"];
    EXPECT_NE(names.find("kernel " + name + " on host\n"), std::string::npos) << names;
  }
  for (const char* what : {"threads agree", "binary file", "pagerank"}) EXPECT_NE(names.find(what), std::string::npos);
}

}  // namespace

}  // namespace tessera::testing
