/// What --device auto chooses, with GPUs that need not exist; and what the command says of it on a machine without one.

#include "solve_process.hpp"

#include "device_choice.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace tessera::testing {

namespace {

using Json = nlohmann::json;
using cli::choose_device;
using cli::DeviceChoice;
using cli::GpuSearch;
using cli::ProductBackends;
using cli::UsableGpu;
using cli::Workload;

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

[[nodiscard]] GpuSearch no_gpu() { return {std::nullopt, "no NVIDIA driver is installed"}; }

[[nodiscard]] std::function<GpuSearch()> gpu(int ordinal, std::uint64_t free_bytes) {
  return [=] { return GpuSearch{UsableGpu{ordinal, "NVIDIA Test", free_bytes}, {}}; };
}

[[nodiscard]] GpuSearch must_not_search() {
  ADD_FAILURE() << "looked for a GPU without need";
  return no_gpu();
}

/// A matrix in double precision with 5 nonzeros a row.
[[nodiscard]] Workload workload(offset_t nnz, ProductBackends backends = {"a product", true, true}) {
  return {nnz / 5, nnz, sizeof(double), sizeof(double), std::move(backends)};
}

void expect_host(const DeviceChoice& choice, const std::string& reason) {
  EXPECT_FALSE(choice.gpu);
  EXPECT_EQ(choice.reason, reason);
}

TEST(DeviceChoice, SmallMatricesStayOnTheHostWithoutASearch) {
  const std::string why = " nonzeros: starting a GPU would take longer than the host needs";
  expect_host(choose_device(workload(0), must_not_search), "0" + why);
  expect_host(choose_device(workload(cli::worth_a_gpu - 1), must_not_search),
              std::to_string(cli::worth_a_gpu - 1) + why);
  expect_host(choose_device(workload(1), must_not_search),
              "1 nonzero: starting a GPU would take longer than the host needs");
}

TEST(DeviceChoice, TheThresholdItselfGoesToTheGpu) {
  const DeviceChoice choice = choose_device(workload(cli::worth_a_gpu), gpu(0, 64 * gibibyte));
  EXPECT_EQ(choice.gpu, 0);
  EXPECT_TRUE(choice.reason.starts_with(std::to_string(cli::worth_a_gpu) + " nonzeros are worth starting a GPU"))
      << choice.reason;
}

TEST(DeviceChoice, TakesTheGpuThatWasFound) {
  const DeviceChoice choice = choose_device(workload(1'000'000'000), gpu(3, 128 * gibibyte));
  EXPECT_EQ(choice.gpu, 3);
  // 8 (rows + 1) + 12 nnz + 0.4 nnz + 10 * 8 rows, with 2e8 rows: 3e10 bytes.
  EXPECT_EQ(choice.reason, "1000000000 nonzeros are worth starting a GPU, about 27.9 GiB needed, 128.0 GiB free");
}

TEST(DeviceChoice, WithoutAGpuTheHost) {
  expect_host(choose_device(workload(1'000'000'000), no_gpu), "no GPU: no NVIDIA driver is installed");
}

TEST(DeviceChoice, NineTenthsOfTheFreeMemoryAreTheLimit) {
  const Workload work = workload(1'000'000'000);
  const std::uint64_t least = cli::bytes_on_gpu(work) / 9 * 10 + 100;
  EXPECT_EQ(choose_device(work, gpu(1, least)).gpu, 1);
  EXPECT_FALSE(choose_device(work, gpu(1, least - 200)).gpu);
  expect_host(choose_device(work, gpu(1, 16 * gibibyte)),
              "about 27.9 GiB needed, too much for cuda:1 (NVIDIA Test) with 16.0 GiB free");
}

TEST(DeviceChoice, CountsWhatAGpuHasToHold) {
  const Workload values{100, 1000, 8, 8, {}};
  EXPECT_EQ(cli::bytes_on_gpu(values), 101U * 8 + 1000 * (4 + 8) + 400 + 10 * 100 * 8);
  const Workload pattern{100, 1000, 0, 4, {}};
  EXPECT_EQ(cli::bytes_on_gpu(pattern), 101U * 8 + 1000 * 4 + 400 + 10 * 100 * 4);
  const Workload large{2'000'000'000, 1'000'000'000'000, 8, 8, {}};
  EXPECT_GT(cli::bytes_on_gpu(large), 12'000'000'000'000U);
}

/// A small matrix lies on a GPU in parts, too, where one kernel may be the loop.
TEST(DeviceChoice, CountsThePartsOfSmallMatrices) {
  cli::RunSettings settings;
  settings.precond.precond = support::Precond::jacobi;
  const auto bytes = [&settings](support::Method method, offset_t nnz = 1000, std::int64_t columns = 1) {
    return cli::bytes_of_parts(settings, method, 100, nnz, 8, columns);
  };
  constexpr std::uint64_t of_parts = 1 << 18;
  EXPECT_EQ(bytes(support::Method::cg), 1000U * (2 + 4) + 100 * (1 + 16) + of_parts);
  EXPECT_EQ(bytes(support::Method::bicgstab), 1000U * (2 + 4) + 100 * (1 + 32) + of_parts);
  const auto sums = static_cast<std::uint64_t>(settings.solver.restart) + 2;
  EXPECT_EQ(bytes(support::Method::gmres), 1000U * (2 + 4) + 100 * (1 + 16) + 2 * sums * 2 * 16 + of_parts);
  EXPECT_EQ(bytes(support::Method::idr), 0U);
  EXPECT_EQ(bytes(support::Method::cg, 1000, 2), 0U);
  EXPECT_EQ(bytes(support::Method::cg, 100'000'000), 0U);  // in no shared memory
  settings.spmv.algorithm = SpmvAlgorithm::merbit;
  EXPECT_EQ(bytes(support::Method::cg), 0U);
  settings.spmv.algorithm = SpmvAlgorithm::automatic;
  settings.precond.precond = support::Precond::amg;
  EXPECT_EQ(bytes(support::Method::cg), 0U);
}

TEST(DeviceChoice, AKernelOfTheHostStaysThereWithoutASearch) {
  expect_host(choose_device(workload(1'000'000'000, {"kernel csr", true, false}), must_not_search),
              "kernel csr runs on the host only");
}

TEST(DeviceChoice, AKernelOfTheGpuGoesThereWhateverTheSize) {
  const ProductBackends gpu_alone{"kernel csr-vector", false, true};
  for (const offset_t nnz : {offset_t{0}, offset_t{10}, offset_t{1'000'000'000}}) {
    const DeviceChoice choice = choose_device(workload(nnz, gpu_alone), gpu(2, gibibyte));
    EXPECT_EQ(choice.gpu, 2);
    EXPECT_EQ(choice.reason, "kernel csr-vector runs on a GPU only");
  }
  expect_host(choose_device(workload(10, gpu_alone), no_gpu), "no GPU: no NVIDIA driver is installed");
}

TEST(DeviceChoice, PlacesAreThoseOfTheKernelTable) {
  const auto offered = [](Device::Kind kind, SpmvAlgorithm algorithm) {
    const auto kernels = spmv_algorithms(kind);
    return std::find(kernels.begin(), kernels.end(), algorithm) != kernels.end();
  };
  for (const SpmvAlgorithm algorithm : known_spmv_algorithms()) {
    SpmvOptions options;
    options.algorithm = algorithm;
    const ProductBackends backends = cli::product_backends(options);
    EXPECT_EQ(backends.host, offered(Device::Kind::host, algorithm)) << backends.product;
    EXPECT_EQ(backends.gpu, offered(Device::Kind::cuda, algorithm)) << backends.product;
    EXPECT_EQ(backends.product, "kernel " + std::string(to_string(algorithm)));
  }
  const ProductBackends any = cli::product_backends({});
  EXPECT_TRUE(any.host && any.gpu);
}

/// No kernel of a GPU keeps it, so the host has to.
TEST(DeviceChoice, AClassThatOnlyTheHostKeepsStaysThere) {
  SpmvOptions options;
  options.determinism = Determinism::gpu_to_gpu;
  expect_host(choose_device(workload(1'000'000'000, cli::product_backends(options)), must_not_search),
              "a product with --determinism gpu runs on the host only");
  options.algorithm = SpmvAlgorithm::merge;
  EXPECT_TRUE(cli::product_backends(options).host);
  EXPECT_FALSE(cli::product_backends(options).gpu);
}

class DeviceReasonTest : public SolveTest {
 protected:
  [[nodiscard]] Json machine(const std::string& line) const {
    const ProcessResult result = run(line + " --json");
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return Json::parse(result.out)["machine"];
  }
};

TEST_F(DeviceReasonTest, SmallMatricesSaySo) {
  const std::string why = " nonzeros: starting a GPU would take longer than the host needs";
  for (const std::string line : {"--poisson2d 10", "--poisson2d 10 --device auto", "--poisson2d 10 -k merbit"}) {
    const Json facts = machine(line);
    EXPECT_EQ(facts["device_reason"], "460" + why) << line;
    EXPECT_TRUE(facts["gpu"].is_null());
  }
  EXPECT_TRUE(machine("pagerank --powerlaw 100")["device_reason"].get<std::string>().ends_with(why));
  const std::string text = run("--poisson2d 10 --device auto").out;
  EXPECT_NE(text.find("\ndevice      host (auto: 460" + why + ")\n"), std::string::npos) << text;
  const std::string said = run("--poisson2d 10 -v").err;
  EXPECT_NE(said.find(" (auto: 460" + why + ")\n"), std::string::npos) << said;
}

TEST_F(DeviceReasonTest, LargeMatricesMissAGpu) {
  const std::string large = "--poisson2d 700 --max-iters 1 --exit-zero -p none";
  EXPECT_TRUE(machine(large)["device_reason"].get<std::string>().starts_with("no GPU: "));
  EXPECT_EQ(machine(large + " -k csr")["device_reason"], "kernel csr runs on the host only");
}

TEST_F(DeviceReasonTest, OnlyAutoHasOne) {
  EXPECT_FALSE(machine("--poisson2d 10 --device host").contains("device_reason"));
  EXPECT_FALSE(machine("pagerank --powerlaw 100 --device host").contains("device_reason"));
  EXPECT_FALSE(machine("inspect --poisson2d 10").contains("device_reason"));
  EXPECT_EQ(run("--poisson2d 10 --device host").out.find("\ndevice "), std::string::npos);
}

TEST_F(DeviceReasonTest, AKernelOfGpusIsRefusedWithoutOne) {
  const ProcessResult result = run("--poisson2d 10 -k csr-vector");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("kernel csr-vector does not run on host"), std::string::npos) << result.err;
}

}  // namespace

}  // namespace tessera::testing
