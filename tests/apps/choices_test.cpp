/// solve --spmv measured --choices FILE: choices that are kept from run to run.

#include "solve_process.hpp"

namespace tessera::testing {

namespace {

using nlohmann::json;

class ChoicesTest : public SolveTest {
 protected:
  /// The reason of the kernel in a run with some more arguments.
  [[nodiscard]] std::string reason(std::vector<std::string> more) const {
    std::vector<std::string> all{"--generate", "poisson2d:60", "--device", "host", "-m", "cg", "--quiet", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const auto result = run(all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out)["plan"]["reason"];
  }
  [[nodiscard]] std::string kept_reason() const { return reason({"--spmv", "measured", "--choices", "c.txt"}); }
  [[nodiscard]] bool has_file() const { return std::filesystem::exists(path("c.txt")); }
};

TEST_F(ChoicesTest, TheSecondRunTakesTheKernelOfTheFirst) {
  const std::string first = kept_reason();
  EXPECT_TRUE(first.starts_with("measured, ")) << first;
  const std::string remembered = "measured before" + first.substr(std::string("measured").size());
  const std::string text = contents(path("c.txt"));
  EXPECT_EQ(kept_reason(), remembered);
  EXPECT_EQ(contents(path("c.txt")), text);

  // Of another matrix a line is added.
  EXPECT_EQ(
      run({"inspect", "--generate", "poisson2d:61", "--device", "host", "--spmv", "measured", "--choices", "c.txt"})
          .exit_code,
      0);
  EXPECT_TRUE(contents(path("c.txt")).starts_with(text));
  EXPECT_GT(contents(path("c.txt")).size(), text.size());
  EXPECT_EQ(kept_reason(), remembered);
}

TEST_F(ChoicesTest, DamagedLinesAreMeasuredAnew) {
  static_cast<void>(kept_reason());
  std::string text = contents(path("c.txt"));
  text[text.find(", per product") + 3] = 'x';
  file("c.txt", text);
  EXPECT_FALSE(kept_reason().starts_with("measured before, "));
  EXPECT_EQ(contents(path("c.txt")).find(", pxr product"), std::string::npos);
  EXPECT_TRUE(kept_reason().starts_with("measured before, "));
}

TEST_F(ChoicesTest, AnEmptyFileIsFilled) {
  file("c.txt", "");
  static_cast<void>(kept_reason());
  EXPECT_TRUE(kept_reason().starts_with("measured before, "));
}

TEST_F(ChoicesTest, AFileOfAnotherKindStaysAsItIs) {
  const std::string text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";
  file("a.mtx", text);
  const auto result = run({"a.mtx", "--spmv", "measured", "--choices", "a.mtx"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.err,
            "solve: error: a.mtx:1:1: a file of measured choices begins with \"tessera measured choices 1\"\n");
  EXPECT_EQ(contents(path("a.mtx")), text);
}

TEST_F(ChoicesTest, OtherKernelsNeitherReadNorWriteIt) {
  static_cast<void>(reason({"--choices", "c.txt"}));
  static_cast<void>(reason({"--spmv", "merge", "--choices", "c.txt"}));
  EXPECT_FALSE(has_file());
  file("c.txt", "something else\n");
  static_cast<void>(reason({"--spmv", "merge", "--choices", "c.txt"}));
  EXPECT_EQ(contents(path("c.txt")), "something else\n");
  EXPECT_EQ(run({"--help", "--spmv", "measured", "--choices", "c.txt"}).exit_code, 0);
}

TEST_F(ChoicesTest, AForecastMeasuresNothing) {
  EXPECT_EQ(run({"--generate", "poisson2d:60", "--spmv", "measured", "--choices", "c.txt", "--dry-run"}).exit_code, 0);
  EXPECT_FALSE(has_file());
}

TEST_F(ChoicesTest, APathThatCannotBeWrittenIsToldAfterTheResult) {
  const auto result = run({"--generate", "poisson2d:20", "--spmv", "measured", "--choices", "missing/c.txt"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_NE(result.out.find("converged"), std::string::npos);
  EXPECT_NE(result.err.find("missing/c.txt"), std::string::npos) << result.err;
}

}  // namespace

}  // namespace tessera::testing
