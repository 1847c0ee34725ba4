/// --dry-run and --mem-limit on several devices: what is told before against what each device then has.

#include "solve_process.hpp"
#include "tests/support/sanitized.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace tessera::testing {

namespace {

using nlohmann::json;

class SeveralDevicesMemoryTest : public SolveTest {
 protected:
  [[nodiscard]] json document(const std::string& line, int code = 0) const {
    const auto result = run(line + " --json");
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.err;
    return json::parse(result.out);
  }
  [[nodiscard]] static std::uint64_t bytes(const json& device, const char* key) {
    return device[key].get<std::uint64_t>();
  }
};

/// Counts are those of the run, bytes are at most.
TEST_F(SeveralDevicesMemoryTest, ForecastsHoldForEveryDevice) {
  for (const std::string line :
       {"--poisson2d 60 -m cg -p jacobi --device host,host", "--poisson2d 60 -m cg -k csr5 --device host,host,host",
        "--convdiff 14 -m bicgstab -p none --precision fp32 --device host,host",
        "--poisson2d 300 -m cg -p amg --device host,host", "--poisson3d 40 -m cg -p amg --device host,host,host,host",
        "pagerank --generate rmat:scale=12 --device host,host,host",
        "pagerank --generate web:2e4 --device host,host"}) {
    const json foretold = document(line + " --dry-run");
    const json took = document(line);
    ASSERT_EQ(foretold["devices"].size(), took["devices"].size()) << line;
    std::uint64_t precond = 0;
    for (std::size_t k = 0; k < took["devices"].size(); ++k) {
      const json& told = foretold["devices"][k];
      const json& has = took["devices"][k];
      for (const char* key : {"first_row", "rows", "nnz", "halo", "halo_nnz", "boundary_rows", "neighbours"}) {
        EXPECT_EQ(told[key], has[key]) << line << ", device " << k << ", " << key;
      }
      const std::uint64_t told_bytes =
          bytes(told, "matrix_bytes") + bytes(told, "plan_bytes") + bytes(told, "halo_bytes");
      EXPECT_GE(told_bytes, bytes(has, "bytes")) << line;
      // A plan is bounded by 64 KiB and more.
      EXPECT_LE(bytes(told, "matrix_bytes") + bytes(told, "halo_bytes"), bytes(has, "bytes")) << line;
      precond += bytes(told, "precond_bytes");
    }
    if (!took.contains("preconditioner") || took["preconditioner"].is_null()) continue;
    const auto had = took["preconditioner"]["bytes"].get<std::uint64_t>();
    EXPECT_GE(precond, had) << line;
    if (line.find("amg") != std::string::npos) {
      EXPECT_LE(precond, 4 * had) << line;
    }
  }
}

/// Vectors are those of one device, cut; of a ranking they have room for the halo.
TEST_F(SeveralDevicesMemoryTest, VectorsAreThoseOfOneDevice) {
  for (const std::string line :
       {"--poisson2d 60 -m cg -p jacobi", "--convdiff 14 -m bicgstab -p none", "pagerank --generate rmat:scale=10"}) {
    std::uint64_t one = 0;
    const json of_one = document(line + " --dry-run --device host");
    for (const json& phase : of_one["phases"]) {
      if (phase["phase"] == "vectors") one = bytes(phase, "held_bytes");
    }
    ASSERT_GT(one, 0U) << line;
    std::uint64_t several = 0;
    std::uint64_t halo = 0;
    const json of_three = document(line + " --dry-run --device host,host,host");
    for (const json& device : of_three["devices"]) {
      several += bytes(device, "vector_bytes");
      halo += 2 * sizeof(double) * bytes(device, "halo");
    }
    EXPECT_EQ(several, one + (line.starts_with("pagerank") ? halo : 0)) << line;
  }
}

/// Coarser levels lie whole on each of many devices.
TEST_F(SeveralDevicesMemoryTest, EveryDeviceHasTheCoarserLevels) {
  std::string devices = "host";
  for (int k = 1; k < 16; ++k) devices += ",host";
  const std::string line = "--poisson2d 225 -m cg -p amg --device " + devices;
  const json foretold = document(line + " --dry-run");
  std::uint64_t told = 0;
  for (const json& device : foretold["devices"]) told += bytes(device, "precond_bytes");
  EXPECT_GE(told, document(line)["preconditioner"]["bytes"].get<std::uint64_t>());
}

/// On the host the devices share its memory.
TEST_F(SeveralDevicesMemoryTest, PeaksHold) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const auto smallest = run("--poisson2d 2 -m cg --device host,host");
  const std::uint64_t program = smallest.peak_bytes + (std::uint64_t{2} << 20);
  ASSERT_EQ(run("convert --poisson3d 40 p.mtx").exit_code, 0);
  for (const std::string line :
       {"p.mtx -m cg -p jacobi --device host,host", "p.mtx -m bicgstab -p none --device host,host,host",
        "p.mtx -m cg -p amg --device host,host", "pagerank --generate rmat:scale=15 --device host,host"}) {
    const json foretold = document(line + " --dry-run");
    const auto done = run(line);
    ASSERT_EQ(done.exit_code, 0) << done.err;
    const auto peak = foretold["memory_bytes"]["peak"].get<std::uint64_t>();
    EXPECT_GE(peak + program, done.peak_bytes) << line << "\n" << foretold["phases"].dump(1);
    EXPECT_LE(static_cast<double>(peak), 2.5 * static_cast<double>(done.peak_bytes)) << line;
  }
}

/// The limit is of each device, and the dry run has the exit code of the run.
TEST_F(SeveralDevicesMemoryTest, LimitsAreOfEachDevice) {
  for (const std::string line :
       {"--poisson2d 80 -m cg -p jacobi --device host,host", "--poisson2d 80 -m cg -p amg --device host,host,host",
        "pagerank --generate rmat:scale=11 --device host,host"}) {
    std::uint64_t most = 0;
    const json foretold = document(line + " --dry-run");
    for (const json& device : foretold["devices"]) most = std::max(most, bytes(device, "bytes"));
    const std::string enough = line + " --mem-limit " + std::to_string(most);
    const std::string less = line + " --mem-limit " + std::to_string(most - 1);
    EXPECT_EQ(run(enough + " -q").exit_code, 0) << "what fits, runs";
    EXPECT_EQ(document(enough + " --dry-run")["result"]["status"], "fits");
    const json refused = document(less + " --dry-run", 6);
    EXPECT_EQ(refused["result"]["status"], "too_large");
    EXPECT_EQ(refused["memory_bytes"]["limit"], most - 1);
    const auto failed = run(less);
    EXPECT_EQ(failed.exit_code, 6) << line;
    EXPECT_NE(failed.err.find("the share of host (device "), std::string::npos) << failed.err;
  }
}

/// A fuller device is the one that is named: a row of 4000 entries among short ones.
TEST_F(SeveralDevicesMemoryTest, TheDeviceThatDoesNotFitIsNamed) {
  std::string entries;
  int count = 0;
  for (int row = 1; row <= 4000; ++row) {
    entries += std::to_string(row) + " " + std::to_string(row) + " 4000\n";
    if (row > 1) entries += "1 " + std::to_string(row) + " 1\n" + std::to_string(row) + " 1 1\n";
    count += row > 1 ? 3 : 1;
  }
  file("arrow.mtx",
       "%%MatrixMarket matrix coordinate real general\n4000 4000 " + std::to_string(count) + "\n" + entries);
  const std::string line = "arrow.mtx -m cg -p jacobi -k csr --device host,host";
  const json foretold = document(line + " --dry-run");
  const std::uint64_t first = bytes(foretold["devices"][0], "bytes");
  const std::uint64_t second = bytes(foretold["devices"][1], "bytes");
  ASSERT_NE(first, second);
  const auto failed = run(line + " --mem-limit " + std::to_string(std::min(first, second)));
  EXPECT_EQ(failed.exit_code, 6);
  const char* const named =
      first > second ? "the share of host (device 1 of 2) needs" : "the share of host (device 2 of 2) needs";
  EXPECT_NE(failed.err.find(named), std::string::npos) << failed.err;
}

TEST_F(SeveralDevicesMemoryTest, TheTextSaysWhatCrosses) {
  const auto shown = run("--poisson2d 32 -m bicgstab -p none --device host,host --dry-run");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  // Two products per iteration, a row of the grid each: 2 x 32 x 8 bytes.
  EXPECT_NE(shown.out.find("halo 32 elements from 1 device: 512 B in and 512 B out per iteration"), std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("ordering    natural"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(" free: it fits"), std::string::npos) << shown.out;
  const auto refused = run("--poisson2d 32 -m gmres --device host,host --dry-run");
  EXPECT_EQ(refused.exit_code, 2) << "what does not run there is not forecast";
}

}  // namespace

}  // namespace tessera::testing
