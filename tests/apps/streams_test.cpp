/// Standard streams that are closed, full, gone, or named as files cost no result.

#include "solve_process.hpp"

#include <sys/stat.h>

namespace tessera::testing {

namespace {

class StreamsTest : public SolveTest {
 protected:
  /// `solve LINE` by a shell, which sets up the streams. $solve is the program.
  [[nodiscard]] ProcessResult shell(const std::string& script) const {
    ProcessOptions options;
    options.directory = path("");
    return run_process({"/bin/sh", "-c", "solve='" TESSERA_SOLVE_BINARY "'; " + script}, options);
  }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
};

TEST_F(StreamsTest, AFullOrClosedStandardErrorCostsNothing) {
  for (const char* redirection : {"2>/dev/full", "2>&-"}) {
    const auto result = shell(std::string("rm -f x.mtx; $solve --poisson3d 6 -v -o x.mtx ") + redirection);
    EXPECT_EQ(result.exit_code, 0) << redirection;
    EXPECT_NE(result.out.find("converged"), std::string::npos) << redirection;
    EXPECT_TRUE(contents(path("x.mtx")).starts_with("%%MatrixMarket")) << redirection;
    EXPECT_EQ(shell(std::string("$solve no-such-file.mtx ") + redirection).exit_code, 5) << redirection;
  }
}

TEST_F(StreamsTest, AClosedStandardOutputIsAnOutputThatFailed) {
  const auto result = shell("$solve --poisson3d 4 -o - --json=a.json >&-");
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_NE(result.err.find("cannot write standard output"), std::string::npos) << result.err;
  EXPECT_TRUE(exists("a.json"));
}

TEST_F(StreamsTest, AReaderThatWentAwayTakesOnlyItsOwnOutput) {
  // Descriptor 4 writes to a pipe whose only reader, descriptor 3, is closed again.
  const auto result =
      shell("mkfifo p; exec 3<>p 4>p 3>&-; $solve --poisson3d 6 -o - --json=a.json --history h.csv >&4");
  EXPECT_EQ(result.exit_code, 141);
  EXPECT_EQ(result.err.find("error:"), std::string::npos) << result.err;
  EXPECT_TRUE(exists("a.json"));
  EXPECT_TRUE(exists("h.csv"));
}

TEST_F(StreamsTest, AReaderThatWentAwayIsNoErrorMessage) {
  file("v.txt", "1\n2\n");
  const std::string gone = "mkfifo p; exec 3<>p 4>p 3>&-; $solve ";
  for (const char* line :
       {"--poisson3d 6", "--poisson3d 6 --json", "list", "--help", "compare --poisson2d 9 --repeat 3",
        "convert --poisson2d 90 -", "convert --vector v.txt -", "spgemm --poisson2d 90 -o -"}) {
    const auto result = shell("rm -f p; " + gone + line + " >&4");
    EXPECT_EQ(result.exit_code, 141) << line;
    EXPECT_EQ(result.err.find("error:"), std::string::npos) << line << "\n" << result.err;
  }
  EXPECT_EQ(shell("rm -f p; " + gone + "--poisson2d 40 -p none --max-iters 3 -q --json >&4").exit_code, 3)
      << "the status says more";
}

TEST_F(StreamsTest, TheMatrixMayComeFromStandardInput) {
  file("A.mtx", laplace4);
  ASSERT_EQ(shell("gzip -k A.mtx; $solve convert A.mtx A.tsb -q").exit_code, 0);
  for (const char* line :
       {"cat A.mtx | $solve -", "cat A.mtx.gz | $solve -", "$solve - <A.tsb", "$solve run - <A.mtx",
        "$solve inspect - <A.mtx", "cat A.mtx | $solve compare - --repeat 3", "cat A.mtx | $solve spgemm -",
        "cat A.mtx | $solve spgemm A.mtx -", "cat A.mtx | $solve pagerank - --unweighted",
        "cat A.mtx | $solve convert - B.mtx --force"}) {
    const auto result = shell(line);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    EXPECT_NE(result.out.find("standard input: 4 "), std::string::npos) << line << "\n" << result.out;
  }
  const auto failed = shell("cat A.mtx | $solve - --max-iters 1 -p none -b random");
  EXPECT_NE(failed.err.find("try: solve - "), std::string::npos) << failed.err;
  EXPECT_EQ(shell("$solve spgemm - - <A.mtx").exit_code, 2);
  EXPECT_EQ(shell("$solve - --cache on <A.mtx").exit_code, 2);
  EXPECT_EQ(shell("$solve - -o A.mtx <A.mtx").exit_code, 2) << "the input stays";
  EXPECT_EQ(contents(path("A.mtx")), laplace4);
}

TEST_F(StreamsTest, AFullStandardOutputStaysAnError) {
  const auto result = shell("$solve --poisson3d 4 >/dev/full");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_NE(result.err.find("cannot write standard output"), std::string::npos) << result.err;
  for (const char* line : {"convert --poisson2d 90 -", "spgemm --poisson2d 90 -o -"}) {
    const auto full = shell(std::string("$solve ") + line + " >/dev/full");
    EXPECT_EQ(full.exit_code, 5) << line;
    EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << line << full.err;
  }
}

TEST_F(StreamsTest, AFileThatIsStandardOutputIsAppendedTo) {
  const auto result = shell(
      "echo earlier >log; ln -s /proc/self/fd/1 link; $solve --poisson3d 3 -q -o link >>log; cat log; test -L link");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("earlier\n%%MatrixMarket")) << result.out;
}

TEST_F(StreamsTest, OutputsFollowLinksAndKeepPermissions) {
  file("old.json", "old");
  file("old.csv", "old");
  ASSERT_EQ(::chmod(path("old.json").c_str(), 0600), 0);
  std::filesystem::create_symlink("old.json", path("link.json"));
  std::filesystem::create_symlink("old.csv", path("link.csv"));
  EXPECT_EQ(run("--poisson3d 3 -q --json=link.json --history link.csv").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.json")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.csv")));
  EXPECT_TRUE(nlohmann::json::accept(contents(path("old.json"))));
  EXPECT_TRUE(contents(path("old.csv")).starts_with("iteration,"));
  EXPECT_EQ(std::filesystem::status(path("old.json")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(StreamsTest, SignalsIgnoredFromTheStartStayIgnored) {
  const auto result = shell(
      "trap '' INT; $solve --poisson2d 1000 -p none --rtol 1e-30 --max-iters 100000000 --max-time 2s --progress none & "
      "sleep 0.5; kill -INT $!; wait $!; exit $?");
  EXPECT_EQ(result.exit_code, 3) << "ended by its time limit: " << result.out;
}

}  // namespace

}  // namespace tessera::testing
