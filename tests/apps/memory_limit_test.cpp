// --mem-limit against the peak of the process, as the system counts it.
#include "solve_process.hpp"
#include "tests/support/sanitized.hpp"

#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tessera::testing {
namespace {

class MemoryLimit : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    if (is_sanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  }

  /// Refused, or ended, converged or not, within the limit beside what the program holds.
  void expect_kept(const std::string& line, std::uint64_t limit_mib) const {
    constexpr std::uint64_t mib = 1024 * 1024;
    const ProcessResult result = run(line + " --threads 2 --mem-limit " + std::to_string(limit_mib) + "MiB");
    EXPECT_TRUE(result.exit_code == 6 || result.exit_code == 0 || result.exit_code == 3 || result.exit_code == 4)
        << line << '\n'
        << result.err;
    EXPECT_LE(result.peak_bytes, limit_mib * mib + program_bytes()) << line << ": exit " << result.exit_code;
  }
};

TEST_F(MemoryLimit, CountsThePlanOfCsr5) {
  expect_kept("--poisson3d 60 -k csr5 -p none --max-iters 3", 43);
  EXPECT_EQ(run("--poisson3d 60 -k csr5 -p none -m cg --max-iters 3 --mem-limit 40MiB").exit_code, 6);
  EXPECT_EQ(run("--poisson3d 60 -k csr5 -p none -m cg --max-iters 3 --mem-limit 80MiB").exit_code, 3);
}

TEST_F(MemoryLimit, CountsThePlanOfTiles) {
  expect_kept("--poisson3d 60 -k tiles -p none --max-iters 3", 75);
  EXPECT_EQ(run("--poisson3d 60 -k tiles -p none -m cg --max-iters 3 --mem-limit 65MiB").exit_code, 6);
  EXPECT_EQ(run("--poisson3d 60 -k tiles -p none -m cg --max-iters 3 --mem-limit 100MiB").exit_code, 3);
  // Chains renumbered at random: nearly a tile per entry.
  ASSERT_EQ(run("convert --generate kmer:300000 scattered.tsb").exit_code, 0);
  expect_kept("scattered.tsb -k tiles -p none -m cg --max-iters 3", 60);
}

TEST_F(MemoryLimit, CountsTheFactorsOfAProduct) {
  expect_kept("spgemm --poisson3d 60", 70);
  expect_kept("spgemm --poisson3d 60 --verify", 100);
  EXPECT_EQ(run("spgemm --poisson3d 60 --mem-limit 300MiB").exit_code, 0);
}

TEST_F(MemoryLimit, CountsTheFactorsOfAPower) { expect_kept("spgemm --poisson3d 60 --power 3", 165); }

TEST_F(MemoryLimit, CountsThePlansOfAllComparedKernels) {
  ASSERT_EQ(run("convert --generate web:200000 w.tsb").exit_code, 0);
  expect_kept("compare w.tsb --min-time 0", 85);
}

TEST_F(MemoryLimit, RefusesAComparisonWhoseKernelDoesNotFit) {
  const ProcessResult result = run("compare --poisson3d 40 --kernels csr5 --min-time 0 --mem-limit 14MiB");
  EXPECT_EQ(result.exit_code, 6) << result.out << result.err;
}

TEST_F(MemoryLimit, HoldsForPreconditionersOfTheLadder) {
  // Neither multigrid nor factors fit, and Jacobi converges.
  for (const auto& [line, limit_mib] : {std::pair{"--poisson3d 60", 60}, {"--generate convdiff:40", 20}}) {
    expect_kept(line, static_cast<std::uint64_t>(limit_mib));
    const auto result = run(std::string(line) + " --mem-limit " + std::to_string(limit_mib) + "MiB");
    EXPECT_EQ(result.exit_code, 0) << line << '\n' << result.out << result.err;
    EXPECT_NE(result.out.find("precond jacobi"), std::string::npos) << result.out;
  }
}

/// 96 MiB of text, of which less than half would fit a second time: the buffer grows without a copy of itself.
TEST_F(MemoryLimit, HoldsForGzipInputNearTheLimit) {
  WriteOptions options;
  options.comments.emplace_back(96U << 20U, ' ');
  write_matrix_market<double>(path("a.mtx.gz"), poisson2d<double>(3, 3).view(), options);
  for (const std::uint64_t limit_mib : {97U, 98U, 101U, 110U, 130U}) {
    expect_kept("inspect a.mtx.gz --no-spy", limit_mib);
    EXPECT_EQ(run("inspect a.mtx.gz --no-spy --mem-limit " + std::to_string(limit_mib) + "MiB").exit_code, 0);
  }
  expect_kept("inspect a.mtx.gz --no-spy", 95);
  EXPECT_EQ(run("inspect a.mtx.gz --no-spy --mem-limit 95MiB").exit_code, 6);
}

TEST_F(MemoryLimit, HistoryForJsonAloneIsBounded) {
  const std::string graph =
      file("per.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1\n2 3 1\n3 1 1\n");
  const std::string weights = file("w.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n4\n");
  const std::string line = "pagerank " + graph + " --personalize " + weights +
                           " --damping 0.999999999999 --tol 1e-15 --max-iters 1500000 --threads 1 -q --json=h.json";
  const ProcessResult result = run(line);
  EXPECT_EQ(result.exit_code, 3) << result.err;
  constexpr std::uint64_t most = 28ULL << 20;
  EXPECT_LE(result.peak_bytes, most);
  const auto json = nlohmann::json::parse(contents(path("h.json")));
  EXPECT_EQ(json["history"]["total_rows"], 1500000);
  EXPECT_EQ(json["history"]["rows"].front()[0], 1);
  EXPECT_EQ(json["history"]["rows"][99][0], 100);
  EXPECT_EQ(json["history"]["rows"].back()[0], 1500000);
}

}  // namespace
}  // namespace tessera::testing
