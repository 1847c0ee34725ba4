/// The command on terminals of several widths: lines that fit, colours only where they are wanted, a clean end.

#include "solve_process.hpp"
#include "terminal_process.hpp"

#include "terminal.hpp"
#include "text_table.hpp"

#include <initializer_list>

namespace tessera::testing {

namespace {

class TerminalTest : public SolveTest {
 protected:
  [[nodiscard]] TerminalResult on_terminal(const std::string& line, TerminalOptions options = {}) const {
    options.directory = path("");
    std::vector<std::string> arguments = words(line);
    arguments.insert(arguments.begin(), TESSERA_SOLVE_BINARY);
    return run_on_terminal(arguments, options);
  }
  [[nodiscard]] TerminalResult on_terminal(const std::string& line, unsigned short columns) const {
    TerminalOptions options;
    options.columns = columns;
    return on_terminal(line, options);
  }
};

constexpr std::string_view escape = "\033";

TEST_F(TerminalTest, NoLineIsWiderThanTheTerminal) {
  std::filesystem::create_directories(path("a-folder/with-a/long-name"));
  file("a-folder/with-a/long-name/A.mtx", laplace4);
  const std::vector<std::pair<std::string, int>> lines{
      {"a-folder/with-a/long-name/A.mtx", 0},
      {"--poisson3d 20 -p amg --plan-info", 0},
      {"--poisson2d 40 -p ilut:1e-3:20", 0},
      {"--poisson3d 12 --max-iters 3", 3},
      {"--poisson2d 1000 -p none --rtol 1e-30 --stagnation 1000000 --max-iters 1000000 --max-time 2s", 3},
      {"compare --poisson2d 9 --repeat 3 --solvers cg --preconds jacobi,ilu0", 0},
      {"inspect --poisson2d 30", 0},
      {"inspect a-folder/with-a/long-name/A.mtx", 0},
      {"pagerank --powerlaw 100", 0},
      {"spgemm --poisson2d 9 --verify", 0},
      {"list", 0},
      {"doctor", 0},
      {"no-such-folder/no-such-file-of-a-rather-long-name.mtx --rtol 1e-8 --max-iters 7", 5},
      {"--help", 0},
      {"compare --help", 0},
      {"help precond", 0}};
  for (const unsigned short columns : std::initializer_list<unsigned short>{80, 60}) {
    for (const auto& [line, code] : lines) {
      const auto result = on_terminal(line, columns);
      EXPECT_EQ(result.exit_code, code) << line << "\n" << result.text;
      for (const std::string& each : screen_lines(result.text)) {
        // Words are left whole.
        const bool one_word = each.find(' ', each.find_first_not_of(' ')) == std::string::npos;
        EXPECT_TRUE(one_word || cli::display_width(each) <= columns) << line << ": " << each;
      }
    }
  }
}

TEST_F(TerminalTest, AFileIsNamedWithoutItsFolders) {
  std::filesystem::create_directories(path("folder"));
  file("folder/A.mtx", laplace4);
  EXPECT_NE(on_terminal("folder/A.mtx", 80).text.find("matrix      A.mtx: 4 x 4"), std::string::npos);
  EXPECT_NE(run("folder/A.mtx").out.find("matrix      folder/A.mtx: 4 x 4"), std::string::npos);
}

TEST_F(TerminalTest, ProgressIsOneLineThatIsRedrawn) {
  const auto result =
      on_terminal("--poisson2d 300 -p none --rtol 1e-30 --stagnation 1000000 --max-iters 1000000 --max-time 2s", 60);
  std::size_t shown = 0;
  for (const std::string& line : screen_lines(result.text)) {
    if (line.find("/1000000  resid ") == std::string::npos) continue;
    ++shown;
    EXPECT_LT(line.size(), 60U) << line;
  }
  EXPECT_GE(shown, 3U);
}

TEST_F(TerminalTest, ColoursGoToTerminalsThatWantThem) {
  const std::string failing = "--poisson3d 12 --max-iters 3";
  const auto usual = on_terminal(failing, 80);
  EXPECT_NE(usual.text.find("\033[1;31mmax_iterations\033[0m"), std::string::npos) << usual.text;
  EXPECT_NE(usual.text.find("\033[33msolve: warning:\033[0m"), std::string::npos) << usual.text;
  EXPECT_NE(on_terminal("--poisson3d 4", 80).text.find("\033[32mconverged\033[0m"), std::string::npos);
  EXPECT_NE(on_terminal("--help", 80).text.find("\033[1mProblem:\033[0m"), std::string::npos);
  EXPECT_NE(on_terminal("no-such.mtx", 80).text.find("\033[1;31msolve: error:\033[0m"), std::string::npos);

  for (const char* variable : {"NO_COLOR=1", "TERM=dumb"}) {
    TerminalOptions options;
    options.environment = {variable};
    for (const std::string& line : {failing, std::string("--help"), std::string("no-such.mtx")}) {
      const auto result = on_terminal(line, options);
      EXPECT_EQ(result.text.find(escape), std::string::npos) << variable << ": " << line << "\n" << result.text;
    }
  }
  EXPECT_EQ(on_terminal(failing + " --color never", 80).text.find(escape), std::string::npos);
}

TEST_F(TerminalTest, ColoursGoToPipesOnlyWhenAskedFor) {
  for (const std::string line :
       {"--poisson3d 12 --max-iters 3", "--help", "no-such.mtx", "list", "inspect --poisson2d 5"}) {
    const auto plain = run(line);
    EXPECT_EQ((plain.out + plain.err).find(escape), std::string::npos) << line;
  }
  EXPECT_NE(run("--poisson3d 4 --color always").out.find("\033[32mconverged"), std::string::npos);
  EXPECT_EQ(run("--poisson3d 4 --color sometimes").exit_code, 2);
}

TEST_F(TerminalTest, CtrlCIsNamed) {
  TerminalOptions options;
  options.after = "resid";
  options.keys = "\x03";
  const auto result = on_terminal(
      "--poisson2d 300 -p none --rtol 1e-30 --stagnation 1000000 --max-iters 1000000 --json=a.json --error-gate off",
      options);
  ASSERT_EQ(result.exit_code, 130) << result.text;
  const auto json = nlohmann::json::parse(contents(path("a.json")));
  const std::string reason = json["result"]["reason"];
  EXPECT_TRUE(reason.starts_with("interrupted by Ctrl-C after iteration ")) << reason;
  EXPECT_NE(result.text.find("interrupted by Ctrl-C"), std::string::npos) << result.text;
  EXPECT_EQ(result.text.find("observer"), std::string::npos) << result.text;
}

/// A product of seconds ends at once, and what the shell shows next begins a line.
TEST_F(TerminalTest, TheSecondCtrlCEndsTheLineOfProgress) {
  TerminalOptions options;
  options.after = "multiplying  elapsed";
  options.timeout = std::chrono::seconds(300);  // generating alone takes seconds
  options.keys = "\x03\x03";
  const auto result = on_terminal("spgemm --generate rmat:scale=19 --threads 1 -o c.tsb", options);
  EXPECT_EQ(result.exit_code, 130) << result.text;
  EXPECT_NE(result.text.find("solve: stopping after this step; once more to abort\n"), std::string::npos)
      << result.text;
  EXPECT_TRUE(result.text.ends_with("\n")) << result.text;
  EXPECT_FALSE(std::filesystem::exists(path("c.tsb")));
}

TEST(Printable, ControlCharactersBecomeText) {
  EXPECT_EQ(cli::printable("al\033[31mice\033]0;x\007\r\x7f\b"), "al\\x1b[31mice\\x1b]0;x\\x07\\x0d\\x7f\\x08");
  EXPECT_EQ(cli::printable("a\tb\nÄ ‖x‖ 😀"), "a\tb\nÄ ‖x‖ 😀");
  EXPECT_EQ(cli::printable("\xc2\x9b"
                           "31m \x9b"
                           "31m"),
            "\xc2\\x9b31m \\x9b31m");
}

TEST_F(TerminalTest, NamesInFilesDoNotCommandIt) {
  const std::string name = "al\033[31mice\033]0;pwned\007";
  file("g.csv", "source,target\n" + name + ",bob\nbob,x\n");
  file("names", name + "\nb\nc\nd\n");
  file("a.mtx", laplace4);
  file(name + ".mtx", laplace4);
  file("bad.toml",
       "\""
       "a\\u001b[31m\" = 1\n");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"pagerank", "g.csv"},
                                             {"hits", "g.csv"},
                                             {"katz", "g.csv"},
                                             {"pagerank", "--powerlaw", "4", "--labels", "names"},
                                             {name + ".mtx"},
                                             {"inspect", name + ".mtx", "-v"},
                                             {name},
                                             {"a.mtx", "--method", name},
                                             {"a.mtx", "--config", "bad.toml"}}) {
    const auto result = run(arguments);
    const std::string all = result.out + result.err;
    EXPECT_EQ(all.find('\033'), std::string::npos) << all;
    EXPECT_EQ(all.find('\007'), std::string::npos) << all;
    EXPECT_NE(all.find("\\x1b[31m"), std::string::npos) << all;
  }
}

TEST(Fitted, BreaksAtBlanksBelowTheText) {
  EXPECT_EQ(cli::fitted("matrix      one two three\n", 19), "matrix      one two\n            three\n");
  EXPECT_EQ(cli::fitted("  one two three", 9), "  one two\n    three");
  EXPECT_EQ(cli::fitted("try         solve A.mtx -m direct\n", 26),
            "try         solve A.mtx \\\n            -m direct\n");
  EXPECT_EQ(cli::fitted("a-word-that-is-too-long b", 8), "a-word-that-is-too-long\n  b");
  EXPECT_EQ(cli::fitted("±±±± ±±±±", 9), "±±±± ±±±±") << "characters count, not bytes";
  EXPECT_EQ(cli::fitted("matrix      one two three\n", 0), "matrix      one two three\n");
}

TEST(Fitted, TablesGiveUpTheSpareColumns) {
  const cli::TextTable table{{{"", "name"}, {"", "first", 2}, {"a", "second", 1}}, {{"x", "1", "2"}}};
  EXPECT_EQ(aligned_text(table, 17), "                a\nname first second\nx        1      2\n");
  EXPECT_EQ(aligned_text(table, 16), "          a\nname second\nx         2\n  (not in 16 columns: first)\n");
  EXPECT_EQ(aligned_text(table, 3), "\nname\nx\n  (not in 3 columns: first, a second)\n") << "the name stays";
}

}  // namespace

}  // namespace tessera::testing
