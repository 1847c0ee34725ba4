/// Completion scripts in the shells that they are for.

#include "solve_process.hpp"
#include "tools.hpp"

#include "option_table.hpp"

#include "tessera/spmv.hpp"

#include <algorithm>
#include <set>

namespace tessera::testing {

namespace {

[[nodiscard]] bool is_for_gpus_alone(const std::string& kernel) {
  const auto on_host = spmv_algorithms(Device::host(1));
  return kernel != "auto" && kernel != "measured" &&
         std::none_of(on_host.begin(), on_host.end(),
                      [&](SpmvAlgorithm algorithm) { return to_string(algorithm) == kernel; });
}

class CompletionTest : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    for (const char* shell : {"bash", "zsh", "fish"}) {
      const auto script = run(std::string("completion ") + shell);
      ASSERT_EQ(script.exit_code, 0) << script.err;
      file(std::string("solve.") + shell, script.out);
    }
    for (const char* name : {"A.mtx", "B b.mtx", "C.mtx.gz", "notes.md", "run.toml", "run.json", "h.csv"})
      file(name, "");
    std::filesystem::create_directory(path("sub"));
  }

  /// What bash offers for the last of the words, which it has taken apart at "=" as it does.
  [[nodiscard]] std::set<std::string> offered(const std::vector<std::string>& line) const {
    std::string script = "set -u; source ./solve.bash; COMP_WORDS=(";
    for (const std::string& word : line) script += "'" + word + "' ";
    script += "); COMP_CWORD=" + std::to_string(line.size() - 1) + "; _solve; printf '%s\\n' \"${COMPREPLY[@]}\"";
    ProcessOptions options;
    options.directory = path("");
    const auto result = run_process({"/usr/bin/env", "bash", "--norc", "-c", script}, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.err.empty()) << result.err;
    std::istringstream lines(result.out);
    std::set<std::string> replies;
    for (std::string reply; std::getline(lines, reply);) {
      if (!reply.empty()) replies.insert(reply);
    }
    return replies;
  }
};

using Set = std::set<std::string>;

[[nodiscard]] bool holds(const Set& set, const std::string& word) { return set.find(word) != set.end(); }

TEST_F(CompletionTest, BashKnowsCommandsOptionsAndValues) {
  TESSERA_NEED_TOOL("bash", "bash", "-c", "mapfile </dev/null");
  EXPECT_EQ(offered({"solve", "pag"}), Set{"pagerank"});
  EXPECT_EQ(offered({"solve", "--rt"}), Set{"--rtol"});
  EXPECT_EQ(offered({"solve", "A.mtx", "--precond", ""}),
            (Set{"auto", "none", "jacobi", "spai", "fsai", "amg", "poly", "neumann", "ilu0", "iluk", "ilut", "ilutp",
                 "ic0", "ict", "bjacobi:"}));
  EXPECT_EQ(offered({"solve", "--precond-opt", "chebyshev-d"}), Set{"chebyshev-degree="});
  EXPECT_EQ(offered({"solve", "-p", "j"}), Set{"jacobi"});
  EXPECT_EQ(offered({"solve", "--spmv", "=", "merb"}), Set{"merbit"});
  EXPECT_EQ(offered({"solve", "--precision", "="}), (Set{"fp64", "fp32", "mixed"}));
  EXPECT_EQ(offered({"solve", "pagerank", "--dang"}), Set{"--dangling"});
  EXPECT_EQ(offered({"solve", "pagerank", "web.mtx", "--dangling", "u"}), Set{"uniform"});
  EXPECT_EQ(offered({"solve", "pagerank", "--personalize", "u"}), Set{"unit:"});
  EXPECT_EQ(offered({"solve", "--method", "pagerank", "--dam"}), Set{"--damping"});
  EXPECT_EQ(offered({"solve", "--dam"}), Set{"--damp"});
  EXPECT_EQ(offered({"solve", "--dang"}), Set{}) << "of another command";
  EXPECT_EQ(offered({"solve", "--rtol", ""}), Set{}) << "a number is not offered";
  EXPECT_EQ(offered({"solve", "list", "ker"}), Set{"kernels"});
  EXPECT_EQ(offered({"solve", "completion", ""}), (Set{"bash", "zsh", "fish"}));
  EXPECT_EQ(offered({"solve", "help", "exit"}), Set{"exit-codes"});
  EXPECT_EQ(offered({"solve", "--set", "max-it"}), Set{"max-iters="});
  EXPECT_EQ(offered({"solve", "--set", "precond", "=", "ja"}), Set{"jacobi"});
}

TEST_F(CompletionTest, BashOffersFilesOfTheRightKind) {
  TESSERA_NEED_TOOL("bash", "bash", "-c", "mapfile </dev/null");
  const Set matrices = offered({"solve", "--rtol", "1", ""});
  EXPECT_EQ(matrices, (Set{"A.mtx", "B b.mtx", "C.mtx.gz", "h.csv", "sub"}));
  const Set first = offered({"solve", ""});
  EXPECT_TRUE(holds(first, "A.mtx") && holds(first, "doctor") && !holds(first, "notes.md"));
  EXPECT_EQ(offered({"solve", "-c", ""}), (Set{"run.toml", "run.json", "sub"}));
  EXPECT_EQ(offered({"solve", "--history", "h"}), Set{"h.csv"});
  EXPECT_EQ(offered({"solve", "-b", "A"}), (Set{"A.mtx", "Aones", "Arandom"}));
}

/// Each option of each command is offered, and each word that is offered for one is accepted.
TEST_F(CompletionTest, BashOffersWhatTheTableHolds) {
  TESSERA_NEED_TOOL("bash", "bash", "-c", "mapfile </dev/null");
  for (const cli::Command command : cli::commands()) {
    Set expected;
    for (const cli::OptionSpec& spec : cli::option_table()) {
      if (uses(command, spec)) expected.insert("--" + std::string(spec.name));
    }
    EXPECT_EQ(offered({"solve", std::string(to_string(command)), "--"}), expected);
  }
  const auto topics = nlohmann::json::parse(run("list --json").out);
  Set expected;
  for (const auto& [topic, entries] : topics.items()) {
    if (topic != "schema") expected.insert(topic);
  }
  EXPECT_EQ(offered({"solve", "list", ""}), expected);
}

TEST_F(CompletionTest, EveryWordOfTheTableIsAccepted) {
  const auto found = nlohmann::json::parse(run("doctor --json").out);
  const bool has_petsc = found["petsc"]["compiled_in"];
  const bool has_metis = found["metis"]["library"] != "";
  for (const cli::OptionSpec& spec : cli::option_table()) {
    for (const std::string& word : option_words(spec)) {
      for (const cli::Command command : {cli::Command::run, cli::Command::pagerank}) {
        if (!uses(command, spec) || word == "unit:" || word == "random:" || word.starts_with("cuda") ||
            spec.group == "Configuration")
          continue;
        if (spec.group == "Problem" && spec.name != "rhs" && spec.name != "x0") continue;
        if (spec.name == "method" && word == "pagerank") continue;
        if (word.ends_with('=') || word == "bjacobi:") continue;  // the beginning of a word
        const std::string problem = command == cli::Command::run ? "run --poisson3d 3 " : "pagerank --powerlaw 9 ";
        const std::string needs = spec.name == "precond-side" ? "-m gmres -p jacobi "
                                  : word == "metis"           ? "-m cg --device host,host "
                                  : spec.name == "ordering" && command == cli::Command::run ? "-m cg -p jacobi "
                                                                                            : "";
        const std::string line = problem + needs + "--" + std::string(spec.name) + " " + word;
        const auto result = run(line);
        const bool is_for_gpus = spec.name == "spmv" && is_for_gpus_alone(word);
        const bool not_here = is_for_gpus || (spec.name == "ordering" && word == "metis" && !has_metis);
        const bool not_built = spec.name == "engine" && word == "petsc" && !has_petsc;
        EXPECT_EQ(result.exit_code, not_here ? 2 : not_built ? 7 : 0) << line << "\n" << result.err;
        EXPECT_EQ(result.err.find("does not run on host") != std::string::npos, is_for_gpus) << line << "\n"
                                                                                             << result.err;
      }
    }
  }
}

TEST_F(CompletionTest, ZshReadsItsScript) {
  TESSERA_NEED_TOOL("zsh", "zsh", "-f", "-c", "true");
  ProcessOptions options;
  options.directory = path("");
  const auto syntax = run_process({"/usr/bin/env", "zsh", "-f", "-n", "solve.zsh"}, options);
  EXPECT_EQ(syntax.exit_code, 0) << syntax.err;
}

/// A terminal of zsh's own, in which a key is pressed.
TEST_F(CompletionTest, ZshCompletes) {
  TESSERA_NEED_TOOL("zsh", "zsh", "-f", "-c", "zmodload zsh/zpty && autoload -Uz +X compinit");
  file("press.zsh",
       "zmodload zsh/zpty\n"
       "zpty shell zsh -f -i\n"
       "zpty -w shell 'PS1=; unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source ./solve.zsh; "
       "finish() { print -r -- \"<<$BUFFER>>\"; BUFFER=; zle accept-line }; zle -N finish; bindkey \"^X\" finish; "
       "print re''ady'\n"
       "zpty -r -m shell text '*ready*'\n"
       "zpty -w -n shell \"$1\"$'\\t\\C-x'\n"
       "zpty -r -m shell text '*<<*>>*'\n"
       "print -r -- ${${text##*<<}%%>>*}\n"
       "zpty -d shell\n");
  ProcessOptions options;
  options.directory = path("");
  options.timeout = std::chrono::seconds(30);
  for (const auto& [typed, completed] : std::vector<std::pair<std::string, std::string>>{
           {"solve pager", "solve pagerank "},
           {"solve --rto", "solve --rtol="},
           {"solve pagerank --dangling=uni", "solve pagerank --dangling=uniform "},
           {"solve A.mtx -k merb", "solve A.mtx -k merbit "},
           {"solve list ker", "solve list kernels "},
           {"solve --config run.to", "solve --config run.toml "},
           {"solve A", "solve A.mtx "}}) {
    const auto result = run_process({"/usr/bin/env", "zsh", "-f", "press.zsh", typed}, options);
    EXPECT_EQ(result.out.substr(0, result.out.find_last_not_of("\r\n") + 1), completed) << typed << "\n" << result.err;
  }
}

TEST_F(CompletionTest, FishCompletes) {
  TESSERA_NEED_TOOL("fish", "fish", "--no-config", "-c", "true");
  ProcessOptions options;
  options.directory = path("");
  const auto offers = [&](const std::string& typed) {
    const auto result = run_process({"/usr/bin/env", "HOME=" + path(""), "fish", "--no-config", "-c",
                                     "source solve.fish; complete -C '" + typed + "'"},
                                    options);
    EXPECT_TRUE(result.err.empty()) << typed << "\n" << result.err;
    Set replies;
    std::istringstream lines(result.out);
    // A tab separates the description.
    for (std::string line; std::getline(lines, line);) replies.insert(line.substr(0, line.find('\t')));
    return replies;
  };
  EXPECT_EQ(offers("solve pag"), Set{"pagerank"});
  EXPECT_EQ(offers("solve --rt"), Set{"--rtol"});
  EXPECT_EQ(offers("solve -p ja"), Set{"jacobi"});
  EXPECT_EQ(offers("solve --precision "), (Set{"fp64", "fp32", "mixed"}));
  EXPECT_EQ(offers("solve --spmv=merb"), Set{"--spmv=merbit"});
  EXPECT_EQ(offers("solve pagerank web.mtx --dangling u"), Set{"uniform"});
  EXPECT_EQ(offers("solve --method pagerank --dam"), Set{"--damping"});
  EXPECT_EQ(offers("solve --dam"), Set{"--damp"});
  EXPECT_EQ(offers("solve --dang"), Set{}) << "of another command";
  EXPECT_EQ(offers("solve list ker"), Set{"kernels"});
  EXPECT_EQ(offers("solve --set max-it"), Set{"max-iters="});
  EXPECT_EQ(offers("solve --config run."), (Set{"run.toml", "run.json"}));
  EXPECT_EQ(offers("solve inspect A"), Set{"A.mtx"});
}

TEST_F(CompletionTest, OtherShellsAreRefused) {
  EXPECT_EQ(run("completion tcsh").exit_code, 2);
  EXPECT_NE(run("completion bsh").err.find("did you mean bash?"), std::string::npos);
  EXPECT_EQ(run("completion").exit_code, 2);
  EXPECT_EQ(run("completion bash zsh").exit_code, 2);
}

}  // namespace

}  // namespace tessera::testing
