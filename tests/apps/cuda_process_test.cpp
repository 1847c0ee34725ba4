/// The command on a GPU. Skips where there is none.

#include "solve_process.hpp"

#include "tessera/spmv.hpp"
#include "tests/support/cuda_test.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::testing {

namespace {

using Json = nlohmann::json;

class CudaProcessTest : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    std::string why;
    if (!has_gpu(why)) GTEST_SKIP() << "needs a GPU: " << why;
    if (spmv_algorithms(Device::Kind::cuda).empty()) GTEST_SKIP() << "this build has no kernels for a GPU";
  }

  [[nodiscard]] ProcessResult with_gpu(const std::string& line) const {
    ProcessOptions options;
    options.directory = path("");
    options.hide_gpus = false;
    return solve(words(line), options);
  }

  [[nodiscard]] Json document(const std::string& line, int exit_code = 0) const {
    const ProcessResult result = with_gpu(line + " --json");
    EXPECT_EQ(result.exit_code, exit_code) << line << "\n" << result.err;
    Json json = Json::parse(result.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << result.out;
    return json;
  }
};

TEST_F(CudaProcessTest, RunSolvesThereAndSaysSo) {
  for (const std::string system : {"--poisson3d 24", "--convdiff 16", "--poisson3d 24 --precision fp32"}) {
    const Json json = document(system + " --device cuda");
    EXPECT_EQ(json["result"]["status"], "converged");
    EXPECT_LT(json["result"]["error_vs_known"].get<double>(), 1e-2);
    EXPECT_EQ(json["machine"]["gpu"]["device"], "cuda:0");
    EXPECT_FALSE(json["machine"]["gpu"]["name"].get<std::string>().empty());
    EXPECT_GT(json["timings_ms"]["upload"].get<double>(), 0.0);
    EXPECT_GT(json["timings_ms"]["download"].get<double>(), 0.0);
    const Json host = document(system + " --device host");
    EXPECT_TRUE(host["machine"]["gpu"].is_null());
    const auto there = json["result"]["iterations"].get<std::int64_t>();
    const auto here = host["result"]["iterations"].get<std::int64_t>();
    EXPECT_LE(std::abs(there - here), 2 + here / 20);
  }
  const ProcessResult text = with_gpu("--poisson3d 24 --device cuda --plan-info");
  EXPECT_NE(text.out.find("device      cuda:0 ("), std::string::npos) << text.out << text.err;
}

TEST_F(CudaProcessTest, AutoTakesTheGpuWhereItPays) {
  const std::string large = "--poisson3d 100 --max-iters 2 --exit-zero";
  const Json there = document(large)["machine"];
  EXPECT_FALSE(there["gpu"].is_null());
  const auto reason = there["device_reason"].get<std::string>();
  EXPECT_TRUE(reason.starts_with("6940000 nonzeros are worth starting a GPU, about ")) << reason;
  EXPECT_EQ(document(large + " -k csr")["machine"]["device_reason"], "kernel csr runs on the host only");
  EXPECT_EQ(document(large + " --determinism gpu")["machine"]["device_reason"],
            "a product with --determinism gpu runs on the host only");
  EXPECT_FALSE(document(large + " --device cuda")["machine"].contains("device_reason"));
  const Json named = document("--poisson3d 10 -k csr-vector")["machine"];
  EXPECT_FALSE(named["gpu"].is_null());
  EXPECT_EQ(named["device_reason"], "kernel csr-vector runs on a GPU only");
  EXPECT_FALSE(document("pagerank --powerlaw 3e5 --max-iters 2 --exit-zero")["machine"]["gpu"].is_null());
  const ProcessResult text = with_gpu(large);
  EXPECT_NE(text.out.find("(auto: 6940000 nonzeros are worth starting a GPU"), std::string::npos) << text.out;
}

TEST_F(CudaProcessTest, AutoLeavesSmallMatricesToTheHostAndKernelsHaveDevices) {
  EXPECT_TRUE(document("--poisson3d 10")["machine"]["gpu"].is_null());
  EXPECT_TRUE(document("--poisson3d 10 -k csr")["machine"]["gpu"].is_null());
  const ProcessResult refused = with_gpu("--poisson3d 10 -k csr --device cuda");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("kernel csr does not run on cuda:0: known there are auto, "), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("--device host has it"), std::string::npos) << refused.err;
}

TEST_F(CudaProcessTest, EveryKernelSolves) {
  for (const SpmvAlgorithm kernel : spmv_algorithms(Device::Kind::cuda)) {
    const std::string name(to_string(kernel));
    const std::string line = "--poisson2d 60 --device cuda -k " + name;
    const ProcessResult result = with_gpu(line + " --json");
    if (name.starts_with("vendor-") && result.err.find("libcusparse") != std::string::npos) continue;  // not installed
    const Json json = document(line);
    EXPECT_EQ(json["result"]["status"], "converged") << name;
    EXPECT_EQ(json["plan"]["kernel"], name);
  }
}

TEST_F(CudaProcessTest, StreamsAMatrixBeyondTheLimit) {
  const std::pair<std::string, std::string> cases[] = {{"-m gmres --restart 6 -p jacobi", "7MB"},
                                                       {"-m bicgstab -p jacobi", "7MB"},
                                                       {"-m gmres --restart 6 -p none --precision fp32", "5MB"}};
  for (const auto& [method, limit] : cases) {
    // The matrix is not definite, and few iterations differ by rounding alone.
    const std::string line = "--generate fem3d:40000 --device cuda --max-iters 5 --exit-zero " + method;
    const Json json = document(line + " --mem-limit " + limit);
    EXPECT_EQ(json["result"]["iterations"], 5) << method;
    EXPECT_EQ(json["plan"]["kernel"], "streamed") << method;
    EXPECT_GT(json["plan"]["stream"]["bytes_per_product"].get<double>(), 0.0);
    EXPECT_GT(json["plan"]["stream"]["predicted_ms"].get<double>(), 0.0);
    EXPECT_NE(json["warnings"].dump().find("W031"), std::string::npos) << method;
    const Json there = document(line);
    EXPECT_NE(there["plan"]["kernel"], "streamed");
    EXPECT_FALSE(there["plan"].contains("stream"));
    EXPECT_EQ(there["warnings"].dump().find("W031"), std::string::npos);
    const double residual = there["result"]["residual"]["true"].get<double>();
    EXPECT_NEAR(json["result"]["residual"]["true"].get<double>(), residual, 1e-3 * residual) << method;
  }
  const std::string ranking = "pagerank --generate rmat:30000 --top 20 --device cuda";
  const Json streamed = document(ranking + " --mem-limit 3MB");
  EXPECT_EQ(streamed["plan"]["kernel"], "streamed");
  const Json there = document(ranking);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(streamed["result"]["top"][i]["rank"].get<double>(), there["result"]["top"][i]["rank"].get<double>(),
                1e-9);
  }
}

TEST_F(CudaProcessTest, ALimitWithoutRoomForVectorsSaysSo) {
  const ProcessResult vectors = with_gpu("--generate fem3d:40000 -m cg --device cuda --mem-limit 1MB");
  EXPECT_EQ(vectors.exit_code, 6);
  EXPECT_NE(vectors.err.find("the vectors of cg on cuda:0"), std::string::npos) << vectors.err;
  const ProcessResult amg = with_gpu("--generate fem3d:40000 -m cg -p amg --device cuda --mem-limit 7MB");
  EXPECT_EQ(amg.exit_code, 6);
  EXPECT_NE(amg.err.find("the hierarchy of amg (estimated) needs"), std::string::npos) << amg.err;
  const ProcessResult forecast =
      with_gpu("--generate fem3d:40000 -m cg -p jacobi --device cuda --mem-limit 7MB --dry-run");
  EXPECT_EQ(forecast.exit_code, 0);
  EXPECT_NE(forecast.out.find("slices of the matrix cross the bus for every product"), std::string::npos)
      << forecast.out;
}

TEST_F(CudaProcessTest, PageRankAgreesWithTheHost) {
  const Json there = document("pagerank --powerlaw 5000 --seed 3 --top 20 --device cuda");
  const Json here = document("pagerank --powerlaw 5000 --seed 3 --top 20 --device host");
  EXPECT_EQ(there["result"]["status"], "converged");
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(there["result"]["top"][i]["rank"].get<double>(), here["result"]["top"][i]["rank"].get<double>(), 1e-9);
  }
}

TEST_F(CudaProcessTest, CompareChecksAndTimesTheKernelsOfTheGpu) {
  const Json json =
      document("compare --poisson2d 300 --device cuda --solvers cg,bicgstab --rtol 1e-4 --min-time 0.05s");
  EXPECT_EQ(json["machine"]["gpu"]["device"], "cuda:0");
  EXPECT_GT(json["result"]["copy_gbytes_per_s"].get<double>(), 0.0);
  std::size_t products = 0;
  for (const Json& item : json["cases"]) {
    EXPECT_NE(item["result"]["status"], "FAIL") << item.dump(1);
    if (item["kind"] != "product") continue;
    ++products;
    EXPECT_GT(item["product_ms"]["warm"]["median"].get<double>(), 0.0);
  }
  // The vendor's two need a library that may be missing, which a warning says.
  const std::size_t missing = json["warnings"].dump().find("W023") == std::string::npos ? 0 : 2;
  EXPECT_GE(products + missing, spmv_algorithms(Device::Kind::cuda).size());
}

TEST_F(CudaProcessTest, InspectSetsUpTheKernelsOfTheGpu) {
  const Json json = document("inspect --poisson2d 60 --device cuda");
  EXPECT_EQ(json["kernels"].size(), spmv_algorithms(Device::Kind::cuda).size());
}

TEST_F(CudaProcessTest, DoctorTestsTheGpu) {
  const Json json = document("doctor");
  EXPECT_EQ(json["result"]["status"], "healthy");
  const auto on_gpu = std::count_if(json["self_test"].begin(), json["self_test"].end(), [](const Json& check) {
    return check["name"].get<std::string>().find(" on cuda:0") != std::string::npos;
  });
  EXPECT_GT(on_gpu, static_cast<std::ptrdiff_t>(spmv_algorithms(Device::Kind::cuda).size()));
}

TEST_F(CudaProcessTest, InspectPredictsTheKernelsOfTheGpu) {
  const Json json = document("inspect --poisson2d 200 --device cuda --calibration none.txt");
  const Json& predictions = json["predictions"];
  EXPECT_NE(predictions["figures"]["source"], "calibrated");
  ASSERT_GE(predictions["kernels"].size(), 5U);
  double before = 0.0;
  for (const Json& kernel : predictions["kernels"]) {
    EXPECT_GE(kernel["predicted_ms"].get<double>(), before);
    before = kernel["predicted_ms"];
  }
  EXPECT_GT(before, 0.0);
  const ProcessResult text = with_gpu("inspect --poisson2d 200 --device cuda --calibration none.txt --no-spy");
  EXPECT_NE(text.out.find("predicted   "), std::string::npos) << text.out;
  EXPECT_TRUE(document("inspect --poisson2d 20 --device host")["predictions"].is_null());
}

/// Measured once, then in use until the file is damaged.
TEST_F(CudaProcessTest, ACalibrationIsKeptAndUsed) {
  const Json first = document("doctor --calibrate --calibration kept/figures.txt");
  EXPECT_TRUE(first["calibration"]["kept"]);
  const Json figures = first["machine"]["gpu"][0]["figures"];
  EXPECT_EQ(figures["source"], "calibrated");
  EXPECT_EQ(document("doctor --calibration kept/figures.txt")["machine"]["gpu"][0]["figures"], figures);
  EXPECT_EQ(document("inspect --poisson2d 20 --device cuda --calibration kept/figures.txt")["predictions"]["figures"],
            figures);
  std::string text = contents(path("kept/figures.txt"));
  text[text.find("copy_gbytes_per_s=") + 18] = '9' - (text[text.find("copy_gbytes_per_s=") + 18] == '9' ? 1 : 0);
  file("damaged.txt", text);
  const Json damaged = document("doctor --calibration damaged.txt");
  EXPECT_NE(damaged["machine"]["gpu"][0]["figures"]["source"], "calibrated");
  EXPECT_NE(damaged["calibration"]["note"].get<std::string>().find("1 line damaged"), std::string::npos);
  const Json inspected = document("inspect --poisson2d 20 --device cuda --calibration damaged.txt");
  EXPECT_NE(inspected["warnings"].dump().find("W107"), std::string::npos);
}

TEST_F(CudaProcessTest, AnotherNumberingDoesNotShow) {
  for (const std::string ordering : {"rcm", "degree"}) {
    const Json json = document("--poisson3d 24 -b Arandom --rtol 1e-10 --device cuda --ordering " + ordering);
    EXPECT_EQ(json["ordering"]["name"], ordering);
    EXPECT_EQ(json["result"]["status"], "converged");
    EXPECT_LT(json["result"]["error_vs_known"].get<double>(), 1e-6);
  }
}

TEST_F(CudaProcessTest, AGpuThatIsNotThere) {
  const ProcessResult result = with_gpu("--poisson3d 4 --device cuda:63");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_NE(result.err.find("device cuda:63 cannot be used: "), std::string::npos) << result.err;
}

TEST_F(CudaProcessTest, ProductsAreThoseOfTheHost) {
  const std::string product = "spgemm --poisson3d 12 --power 3 --verify --determinism gpu -o ";
  const Json there = document(product + "there.mtx --device cuda");
  EXPECT_EQ(there["machine"]["gpu"]["device"], "cuda:0");
  EXPECT_TRUE(there["check"]["passed"].get<bool>());
  EXPECT_EQ(there["products"].size(), 2U);
  EXPECT_GT(there["timings_ms"]["download"].get<double>(), 0.0);
  for (const Json& report : there["products"]) EXPECT_EQ(report["determinism"], "gpu_to_gpu");
  const Json here = document(product + "here.mtx --device host");
  EXPECT_EQ(here["timings_ms"]["download"], 0.0);
  EXPECT_EQ(contents(path("there.mtx")), contents(path("here.mtx")));
  for (const std::string way :
       {"--estimate hll", "--estimate sampled", "--accumulator bitmap_tiled", "--accumulator hash"}) {
    EXPECT_TRUE(document("spgemm --poisson3d 12 --verify --device cuda " + way)["check"]["passed"].get<bool>()) << way;
  }
  EXPECT_EQ(with_gpu("spgemm --poisson3d 12 --device host --accumulator bitmap_tiled").exit_code, 2);
}

}  // namespace

}  // namespace tessera::testing
