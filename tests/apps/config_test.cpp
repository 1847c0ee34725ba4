/// Settings from files, the environment and --set: precedence, refusals, and the configuration that repeats a run.

#include "solve_process.hpp"

#include <algorithm>

namespace tessera::testing {

namespace {

class ConfigTest : public SolveTest {
 protected:
  [[nodiscard]] nlohmann::json config_of(const ProcessResult& result) const {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["config"];
  }
  void expect_refused(const ProcessResult& result, const std::string& message, int exit_code = 2) const {
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    EXPECT_EQ(result.err.substr(0, result.err.find('\n')), "solve: error: " + message);
    EXPECT_TRUE(result.out.empty()) << result.out;
  }
};

/// Each source in turn is taken away, strongest first; the next one must show.
TEST_F(ConfigTest, TheStrongerSourceWins) {
  file("solve.toml", "max-iters = 105\n");
  file("f.toml", "max-iters = 104\n");
  const std::vector<std::string> variable{"SOLVE_MAX_ITERS=103"};
  const auto value_and_source = [&](const std::vector<std::string>& variables, const std::string& line) {
    const auto item = config_of(run_with(variables, "--poisson3d 4 --json " + line))["max-iters"];
    return std::to_string(item["value"].get<int>()) + " " + item["source"].get<std::string>();
  };
  EXPECT_EQ(value_and_source(variable, "-c f.toml -s max-iters=102 --max-iters 101"), "101 command line");
  EXPECT_EQ(value_and_source(variable, "-c f.toml -s max-iters=102"), "102 --set");
  EXPECT_EQ(value_and_source(variable, "-c f.toml"), "103 environment");
  EXPECT_EQ(value_and_source({}, "-c f.toml"), "104 config file");
  EXPECT_EQ(value_and_source({}, ""), "105 ./solve.toml");
  std::filesystem::remove(path("solve.toml"));
  EXPECT_EQ(value_and_source({}, ""), "10000 default");
  EXPECT_EQ(value_and_source({"SOLVE_MAX_ITERS="}, ""), "10000 default") << "an empty variable is not set";
}

TEST_F(ConfigTest, EverySourceReallyChangesTheRun) {
  EXPECT_EQ(run("--poisson3d 8 -s max-iters=1").exit_code, 3);
  EXPECT_EQ(run_with({"SOLVE_MAX_ITERS=1"}, "--poisson3d 8").exit_code, 3);
  file("f.json", R"({"max-iters": 1, "poisson3d": 8, "quiet": true})");
  const auto result = run("--config f.json");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(result.out.empty());
  EXPECT_TRUE(result.err.empty()) << result.err;
}

TEST_F(ConfigTest, EveryKindOfValueInBothLanguages) {
  file("f.toml",
       "# all kinds\nmatrix = \"A.mtx\"\nrtol = 1e-3\nmax-iters = 77\nmax-time = \"5m\"\nmem-limit = \"1GiB\"\n"
       "plan-info = true\nexit-zero = false\nmethod = \"cg\"\nverbose = 0\nstagnation = 50\n");
  file("f.json",
       R"({"matrix": "A.mtx", "rtol": 0.001, "max-iters": 77, "max-time": 300, "mem-limit": 1073741824,
           "plan-info": true, "exit-zero": false, "method": "cg", "verbose": 0, "stagnation": "50"})");
  file("A.mtx", laplace4);
  auto toml = config_of(run("-c f.toml --json"));
  auto json = config_of(run("-c f.json --json"));
  EXPECT_EQ(toml["rtol"]["value"], 1e-3);
  EXPECT_EQ(toml["max-time"]["value"], 300.0);
  EXPECT_EQ(toml["mem-limit"]["value"], 1 << 30);
  EXPECT_EQ(toml["plan-info"]["value"], true);
  EXPECT_EQ(toml["rtol"]["place"], "f.toml:3");
  for (auto& item : toml) item.erase("place");
  for (auto& item : json) item.erase("place");
  EXPECT_EQ(toml, json);
}

TEST_F(ConfigTest, RefusalsNamePlaceAndNearestKey) {
  const auto toml = [&](const std::string& text) {
    file("f.toml", text);
    return run("--poisson3d 4 -c f.toml");
  };
  expect_refused(toml("\n\nrtoll = 1\n"), "f.toml:3: unknown key \"rtoll\"");
  EXPECT_NE(toml("rtoll = 1").err.find("hint: did you mean rtol?"), std::string::npos);
  EXPECT_NE(toml("max_iters = 1").err.find("hint: did you mean max-iters?"), std::string::npos);
  expect_refused(toml("[solver]\nrtol = 1\n"), "f.toml:1: unknown key \"solver\"");
  expect_refused(toml("events = \"e.jsonl\""),
                 "f.toml:1: option --events is planned and not implemented in Tessera 0.1");
  expect_refused(toml("config = \"g.toml\""), "f.toml:1: --config belongs on the command line");
  expect_refused(toml("rtol = \"abc\""), "f.toml:1: option --rtol: expected a finite number >= 0, got \"abc\"");
  expect_refused(toml("rtol = nan"), "f.toml:1: option --rtol: expected a finite number >= 0, got \"nan\"");
  expect_refused(toml("rtol = true"), "f.toml:1: option --rtol: expected a finite number >= 0, got \"true\"");
  expect_refused(toml("rtol = []"), "f.toml:1: option --rtol: expected X, got an array");
  expect_refused(toml("rtol = 2026-11-21"), "f.toml:1: option --rtol: expected X, got a date or time");
  expect_refused(toml("output = true"), "f.toml:1: option --output: expected FILE|-, got true");
  expect_refused(toml("quiet = 3"), "f.toml:1: option --quiet: expected true or false, got \"3\"");
  expect_refused(
      toml("method = \"bicgstb\""),
      "f.toml:1: option --method: expected one of auto, cg, bicgstab, gmres, idr, minres, chebyshev, richardson, "
      "direct, lsmr, cgls, pagerank, got \"bicgstb\"");
  EXPECT_NE(toml("command = \"pagernk\"").err.find("hint: did you mean pagerank?"), std::string::npos);
  expect_refused(run_with({"SOLVE_RTOLL=1"}, "--poisson3d 4"), "SOLVE_RTOLL: unknown key \"rtoll\"");
  const auto foreign = run_with({"SOLVE_HOME_FOLDER=/somewhere"}, "--poisson3d 4");
  EXPECT_EQ(foreign.exit_code, 0) << foreign.err;
  EXPECT_TRUE(foreign.err.empty()) << foreign.err;
  expect_refused(run_with({"SOLVE_EVENTS=e.jsonl"}, "--poisson3d 4"),
                 "SOLVE_EVENTS: option --events is planned and not implemented in Tessera 0.1");
  expect_refused(run_with({"SOLVE_RTOL=x"}, "--poisson3d 4"),
                 "SOLVE_RTOL: option --rtol: expected a finite number >= 0, got \"x\"");
  expect_refused(run("--poisson3d 4 -s rtoll=1"), "--set rtoll=1: unknown key \"rtoll\"");
  expect_refused(run("--poisson3d 4 -s rtol=x"),
                 "--set rtol=x: option --rtol: expected a finite number >= 0, got \"x\"");
  expect_refused(run("--poisson3d 4 -s rtol"), "option --set: expected KEY=VALUE, got \"rtol\"");
  expect_refused(run("--poisson3d 4 -s rtol=1 --set rtol=2"), "--set rtol=2: \"rtol\" is set more than once");
}

TEST_F(ConfigTest, FilesThatAreNoConfiguration) {
  file("broken.toml", "rtol = 1\nmax-iters =\n");
  const auto broken = run("--poisson3d 4 -c broken.toml");
  EXPECT_EQ(broken.exit_code, 5);
  EXPECT_TRUE(broken.err.starts_with("solve: error: broken.toml:2:")) << broken.err;
  file("broken.json", "{\"rtol\": 1,\n  oops}");
  const auto json = run("--poisson3d 4 -c broken.json");
  EXPECT_EQ(json.exit_code, 5);
  EXPECT_TRUE(json.err.starts_with("solve: error: broken.json:2:")) << json.err;
  file("twice.toml", "rtol = 1\nrtol = 2\n");
  EXPECT_EQ(run("--poisson3d 4 -c twice.toml").exit_code, 5);
  file("twice.json", R"({"rtol": 1, "rtol": 2})");
  expect_refused(run("--poisson3d 4 -c twice.json"), "twice.json: the key \"rtol\" occurs twice");
  expect_refused(run("--poisson3d 4 -c missing.toml"), "cannot read missing.toml: No such file or directory", 5);
  expect_refused(run("--poisson3d 4 -c ."), "cannot read .: it is a directory", 5);
  file("huge.json", "{\"output\": \"a \\\"1e999\",\n  \"rtol\": 1e999}");
  expect_refused(run("--poisson3d 4 -c huge.json"), "huge.json:2:11: number overflow parsing '1e999'", 5);
  std::string parts = "a";
  for (int part = 1; part < 500'000; ++part) parts += ".a";
  for (const std::string& text : {parts + " = 1\n", "[" + parts + "]\n"}) {
    file("deep.toml", text);
    expect_refused(run("--poisson3d 4 -c deep.toml"),
                   "deep.toml: " + std::to_string(text.size()) + " bytes of TOML, a configuration has at most 65536",
                   5);
  }
  const std::string many_parts = parts.substr(0, 65'000) + "a";
  for (const std::string before : {"", "[", "a = {"}) {
    file("deep.toml", "# comment\n" + before + many_parts + " = 1\n");
    expect_refused(run("--poisson3d 4 -c deep.toml"),
                   "deep.toml:2:" + std::to_string(before.size() + 202) + ": more than 100 dots: a key has one part",
                   5);
  }
  file("dots.toml", "rtol = 1e-8 # " + std::string(99, '.') + "\n");
  EXPECT_EQ(run("--poisson3d 4 -c dots.toml").exit_code, 0);
  file("empty.toml", "");
  EXPECT_EQ(run("--poisson3d 4 -c empty.toml").exit_code, 0);
}

/// One file may serve several commands; what is typed must fit the one at hand.
TEST_F(ConfigTest, SettingsOfOtherCommandsArePassedOver) {
  file("solve.toml",
       "damping = 0.5\nrtol = 1e-4\nmethod = \"bicgstab\"\nshadow = \"random\"\nduplicates = \"error\"\n");
  const auto rank = nlohmann::json::parse(run("pagerank --powerlaw 64 --json").out);
  EXPECT_EQ(rank["result"]["damping"], 0.5);
  EXPECT_FALSE(rank["config"].contains("rtol"));
  const auto solved = nlohmann::json::parse(run("--poisson3d 4 --json").out);
  EXPECT_EQ(solved["result"]["method"], "bicgstab");
  EXPECT_EQ(run("--poisson3d 4 -m cg").exit_code, 0) << "a shadow vector that was not typed";
  expect_refused(run("--poisson3d 4 -s damping=0.5"), "option --damping does not apply to run");
  EXPECT_EQ(run("list kernels").exit_code, 0);
  EXPECT_EQ(run("doctor").exit_code, 0);
}

TEST_F(ConfigTest, TheCommandMayComeFromAFile) {
  file("f.toml", "command = \"pagerank\"\npowerlaw = 64\n");
  EXPECT_EQ(nlohmann::json::parse(run("-c f.toml --json").out)["schema"], "solve.pagerank/1");
  file("g.toml", "method = \"pagerank\"\npowerlaw = 64\n");
  EXPECT_EQ(nlohmann::json::parse(run("-c g.toml --json").out)["schema"], "solve.pagerank/1");
  EXPECT_EQ(nlohmann::json::parse(run("run --poisson3d 4 -c f.toml --json").out)["schema"], "solve.run/1");
  EXPECT_EQ(nlohmann::json::parse(run("--method cg --poisson3d 4 -c f.toml --json").out)["schema"], "solve.run/1");
}

TEST_F(ConfigTest, AStrongerProblemToleranceOrLoudnessReplacesAWeakerOne) {
  file("solve.toml", "poisson3d = 4\nquiet = true\n");
  file("A.mtx", laplace4);
  EXPECT_TRUE(run("").out.empty());
  EXPECT_NE(run("A.mtx -s quiet=false").out.find("A.mtx: 4 x 4"), std::string::npos);
  EXPECT_NE(run("--poisson2d 3 -v").out.find("poisson2d 3"), std::string::npos);
  file("solve.toml", "tol-per-node = 1e-9\n");
  EXPECT_EQ(run("pagerank --powerlaw 64 --tol 1e-8").exit_code, 0);
}

TEST_F(ConfigTest, HelpAndListsDoNotReadSettings) {
  file("solve.toml", "no such thing");
  for (const char* line : {"--help", "run --help", "--version", "list"}) EXPECT_EQ(run(line).exit_code, 0) << line;
  EXPECT_EQ(run("--poisson3d 4").exit_code, 5);
}

TEST_F(ConfigTest, AnEmptyTextTakesBackWhatAWeakerSourceSets) {
  file("solve.toml", "mem-limit = 1\nquiet = true\n");
  EXPECT_EQ(run("--poisson3d 4").exit_code, 6);
  const auto result = run("--poisson3d 4 -s mem-limit= -s quiet=");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(result.out.empty());
}

class RoundTripTest : public ConfigTest, public ::testing::WithParamInterface<const char*> {};

/// What --print-config prints reads back as itself and as the same run, to the last bit of the solution.
TEST_P(RoundTripTest, PrintedConfigurationRepeatsTheRun) {
  file("A.mtx", laplace4);
  file("web.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n3 1\n");
  file("solve.toml", "seed = 7\nmax-iters = 500\ndamping = 0.8\n");
  const std::string line = GetParam();
  const auto printed = run(line + " --print-config");
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  file("f.toml", printed.out);
  std::filesystem::remove(path("solve.toml"));
  const auto again = run("-c f.toml --print-config");
  EXPECT_EQ(again.out, printed.out) << again.err;

  file("solve.toml", "seed = 7\nmax-iters = 500\ndamping = 0.8\n");
  const auto first = run(line + " -o -");
  file("solve.toml", "seed = 8\nrtol = 1\ntol-per-node = 1\npoisson2d = 3\nmem-limit = 1\npersonalize = \"no\"\n");
  const auto second = run("-c f.toml -o -");
  EXPECT_EQ(first.exit_code, second.exit_code) << second.err;
  EXPECT_FALSE(first.out.empty());
  EXPECT_EQ(first.out, second.out);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, RoundTripTest,
    ::testing::Values("--poisson3d 5", "A.mtx", "--convdiff 6 --rtol 1e-9 -b random -k merbit -p none --shadow random",
                      "--poisson2d 7 --rtol 1% --max-time 5m --mem-limit 1GiB --precision fp32 -q --exit-zero",
                      "--poisson2d 9 -b unit:3 --x0 random --seed 12345678901234 --atol 1e5 --dtol 1e300",
                      "pagerank web.mtx", "pagerank --powerlaw 1e3 --tol-per-node 1e-9 --dangling self --sum n -vv",
                      "--method pagerank web.mtx --unweighted --tol 0.1"));

/// The document of a run, handed back, is the same run.
TEST_F(ConfigTest, ADocumentRepeatsItsRun) {
  file("A.mtx", laplace4);
  const auto first = run("A.mtx --rtol 1e-3 -b random --seed 3 --json=r.json -o x.mtx");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string x = contents(path("x.mtx"));
  std::filesystem::remove(path("x.mtx"));
  const auto second = run("-c r.json --json=s.json");
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(contents(path("x.mtx")), x);
  auto config = nlohmann::json::parse(contents(path("s.json")))["config"];
  EXPECT_EQ(config["rtol"]["source"], "config file");
  EXPECT_EQ(run("-c r.json").exit_code, 0) << "a run may write its document anew";
  file("list.json", R"({"schema": "solve.list/1"})");
  EXPECT_EQ(run("-c list.json").exit_code, 5);
}

TEST_F(ConfigTest, OutputsDoNotOverwriteTheConfiguration) {
  const std::string text = "poisson3d = 4\n";
  for (const char* option : {"-o", "--history", "--json="}) {
    file("f.json", text);
    EXPECT_EQ(run(std::string("-c f.json ") + option + (option[2] == 'j' ? "" : " ") + "f.json").exit_code, 2);
    EXPECT_EQ(contents(path("f.json")), text);
  }
}

TEST_F(ConfigTest, PrintedConfigurationsAreCheckedFirst) {
  expect_refused(run("--poisson3d 4 --rtol x --print-config"),
                 "option --rtol: expected a finite number >= 0, got \"x\"");
  expect_refused(run(std::vector<std::string>{"A\xff.mtx", "--print-config"}),
                 "--print-config: \"matrix\" is not UTF-8, which a configuration file must be");
}

}  // namespace

}  // namespace tessera::testing
