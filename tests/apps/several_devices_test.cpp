/// solve --device host,host: what summary and JSON say of a run on several devices. The GPUs' part is in
/// tests/solvers/several_devices_cuda_test.cpp.

#include "solve_process.hpp"

#include <string>

namespace tessera::testing {

namespace {

using nlohmann::json;

class SeveralDevicesTest : public SolveTest {};

TEST_F(SeveralDevicesTest, TheDocumentSaysWhatEachDeviceHas) {
  const auto result = run("--poisson2d 30 -m cg -p none --device host,host,host --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["result"]["status"], "converged");
  EXPECT_EQ(document["result"]["precond"], "none");
  const json& devices = document["devices"];
  ASSERT_EQ(devices.size(), 3U);
  std::int64_t rows = 0;
  std::int64_t nnz = 0;
  for (const json& device : devices) {
    EXPECT_EQ(device["device"], "host");
    EXPECT_EQ(device["first_row"], rows);
    rows += device["rows"].get<std::int64_t>();
    nnz += device["nnz"].get<std::int64_t>();
  }
  EXPECT_EQ(rows, 900);
  EXPECT_EQ(nnz, document["matrix"]["nnz"]);
  // A neighbour above, one below.
  EXPECT_EQ(devices[1]["neighbours"], 2);
  EXPECT_EQ(devices[1]["halo"], 60);
}

TEST_F(SeveralDevicesTest, TheSolutionIsThatOfOneDevice) {
  const auto one = run("--poisson2d 20 -m cg -p jacobi --rtol 1e-10 --device host -o one.mtx");
  const auto two = run("--poisson2d 20 -m cg -p jacobi --rtol 1e-10 --device host,host -o two.mtx");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  EXPECT_NE(two.out.find("device      host: rows 201 to 400, "), std::string::npos) << two.out;
  const auto again = run("--poisson2d 20 -m cg -p jacobi --rtol 1e-10 --device host,host -o again.mtx");
  EXPECT_EQ(contents(path("again.mtx")), contents(path("two.mtx")));
  EXPECT_NE(contents(path("two.mtx")), std::string());
}

TEST_F(SeveralDevicesTest, ASolveThatDoesNotConvergeHasItsExitCode) {
  const auto result = run("--poisson2d 20 -m cg --max-iters 2 --device host,host");
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_NE(result.out.find("max_iterations after 2 iterations"), std::string::npos) << result.out;
}

}  // namespace

}  // namespace tessera::testing
