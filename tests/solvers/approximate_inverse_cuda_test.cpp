/// FSAI and SPAI that are set up on a GPU, against those of the host.
#include "core/enqueued_product.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/solvers.hpp"
#include "tests/solvers/approximate_inverse_systems.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

template <class U>
std::vector<U> on_host(std::span<const U> values, const Device& device) {
  std::vector<U> result(values.size());
  detail::copy_bytes(Device{}, result.data(), device, values.data(), values.size_bytes());
  return result;
}

class ApproximateInverseOnGpu : public CudaTest {
 protected:
  template <class T>
  static void expect_same_bits(const CsrView<T>& of_gpu, const CsrView<T>& of_host) {
    EXPECT_EQ(on_host(of_gpu.row_offsets, gpu()), on_host(of_host.row_offsets, Device{}));
    EXPECT_EQ(on_host(of_gpu.columns, gpu()), on_host(of_host.columns, Device{}));
    EXPECT_EQ(on_host(of_gpu.values, gpu()), on_host(of_host.values, Device{}));
  }

  template <class T>
  static std::vector<T> apply(const LinearOperator<T>& m, const std::vector<T>& r) {
    const auto on_device = Array<T>::copy_of(r, m.device());
    Array<T> z(m.rows(), Init::none, m.device());
    m.apply(on_device.span(), z.span());
    return on_host(std::as_const(z).span(), m.device());
  }

  template <class T>
  static void expect_near(const std::vector<T>& found, const std::vector<T>& expected, T relative) {
    ASSERT_EQ(found.size(), expected.size());
    T largest{};
    for (const T value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], relative * largest) << i;
  }

  /// Rows for a thread, for a warp of either size, and for a block.
  [[nodiscard]] static std::vector<int> widths_of_all_kernels() {
    std::vector<int> widths(150, 3);
    widths[60] = 28;
    widths[90] = 60;
    widths[91] = 40;
    widths[120] = 63;  // 64 unknowns
    widths[121] = 64;
    widths[148] = 127;  // 128 unknowns
    widths[149] = 140;  // is cut
    return widths;
  }
};

TEST_F(ApproximateInverseOnGpu, FsaiHasTheBitsOfTheHost) {
  const Csr<double> a = skyline_matrix<double>(widths_of_all_kernels(), true);
  const Csr<double> on_gpu = a.to(gpu());
  for (const int power : {1, 2, 3}) {
    for (const std::int64_t most : {std::int64_t{128}, std::int64_t{20}}) {
      SCOPED_TRACE(::testing::Message() << power << ", " << most);
      const FsaiOptions options{
          .power = power, .filter = power == 1 ? 0.0 : 0.01, .max_row_entries = most, .post_filter = 0.01};
      const FsaiPreconditioner<double> host(a.view(), options);
      const FsaiPreconditioner<double> m(on_gpu.view(), options, gpu());
      expect_same_bits(m.g(), host.g());
      EXPECT_EQ(m.factor().dropped, host.factor().dropped);
      EXPECT_EQ(m.factor().largest_row, host.factor().largest_row);
      EXPECT_EQ(host.factor().largest_row, most);
      const std::vector<double> r = random_values<double>(150, 1);
      expect_near(apply<double>(m, r), apply<double>(host, r), 1e-13);
    }
  }
}

TEST_F(ApproximateInverseOnGpu, AdaptiveFsaiHasTheBitsOfTheHost) {
  const Csr<double> a = skyline_matrix<double>(std::vector<int>(70, 9), true);
  for (const int steps : {5, 20}) {  // for a thread, and for a warp per row
    const FsaiOptions options{.post_filter = 0.01, .adaptive_steps = steps, .step_entries = 1};
    const FsaiPreconditioner<double> host(a.view(), options);
    const FsaiPreconditioner<double> m(a.to(gpu()).view(), options, gpu());
    EXPECT_EQ(host.factor().largest_row, steps + 1);
    expect_same_bits(m.g(), host.g());
  }
}

TEST_F(ApproximateInverseOnGpu, FsaiInSinglePrecisionHasTheBitsOfTheHost) {
  const Csr<float> a = poisson2d<float>(14, 11);
  const FsaiPreconditioner<float> host(a.view(), {.filter = 0.0, .post_filter = 0.0});
  const FsaiPreconditioner<float> m(a.to(gpu()).view(), {.filter = 0.0, .post_filter = 0.0}, gpu());
  expect_same_bits(m.g(), host.g());
}

TEST_F(ApproximateInverseOnGpu, SpaiHasTheBitsOfTheHost) {
  const Csr<double> a = skyline_matrix<double>(widths_of_all_kernels(), false);
  const Csr<double> on_gpu = a.to(gpu());
  const std::vector<double> r = random_values<double>(150, 1);
  for (const std::int64_t most : {std::int64_t{128}, std::int64_t{7}}) {
    const SpaiPreconditioner<double> host(a.view(), {.max_row_entries = most});
    const SpaiPreconditioner<double> m(on_gpu.view(), {.max_row_entries = most}, gpu());
    expect_same_bits(m.m(), host.m());
    expect_near(apply<double>(m, r), apply<double>(host, r), 1e-13);
  }
  const SpaiPreconditioner<double> host(a.view(), {.level = 0});
  const SpaiPreconditioner<double> m(on_gpu.view(), {.level = 0}, gpu());
  EXPECT_EQ(on_host(*m.diagonal(), gpu()), on_host(*host.diagonal(), Device{}));
  const Csr<float> single = convection_diffusion<float>(9, 7, 1, Peclet{10.0, 3.0, 0.0});
  expect_same_bits(SpaiPreconditioner<float>(single.to(gpu()).view(), {}, gpu()).m(),
                   SpaiPreconditioner<float>(single.view()).m());
}

TEST_F(ApproximateInverseOnGpu, SolversRecordThem) {
  const Csr<double> a = poisson2d<double>(gpu_is_emulated ? 8 : 40, gpu_is_emulated ? 9 : 30);
  const auto n = static_cast<std::size_t>(a.rows());
  const std::vector<double> b = random_values<double>(n, 2);
  std::vector<double> x(n);
  const SolveReport expected = cg<double>(SpmvPlan<double>(a.to(Device{})), FsaiPreconditioner<double>(a.view()), b, x);
  const SpmvPlan<double> plan(a.to(gpu()), {.device = gpu()});
  const FsaiPreconditioner<double> fsai(plan.matrix(), {}, gpu());
  const SpaiPreconditioner<double> spai(plan.matrix(), {}, gpu());
  EXPECT_NE(detail::EnqueuedProduct<double>::of(fsai), nullptr);
  EXPECT_NE(detail::EnqueuedProduct<double>::of(spai), nullptr);
  const auto b_on_gpu = Array<double>::copy_of(b, gpu());
  Array<double> x_on_gpu(a.rows(), Init::zero, gpu());
  const SolveReport report = cg<double>(plan, fsai, b_on_gpu.span(), x_on_gpu.span());
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(expected.iterations), 1.0);
  expect_near(on_host(std::as_const(x_on_gpu).span(), gpu()), x, 1e-5);
  detail::zero_bytes(gpu(), x_on_gpu.data(), x_on_gpu.bytes());
  EXPECT_TRUE(bicgstab<double>(plan, spai, b_on_gpu.span(), x_on_gpu.span()).converged());
  expect_near(on_host(std::as_const(x_on_gpu).span(), gpu()), x, 1e-5);
}

TEST_F(ApproximateInverseOnGpu, RefreshAndRefusals) {
  const Csr<double> a = poisson2d<double>(9, 8);
  const Csr<double> other = scaled(a, 16.0);
  FsaiPreconditioner<double> fsai(a.to(gpu()).view(), {}, gpu());
  const std::uint64_t recorded = detail::EnqueuedProduct<double>::of(fsai)->recording_id();
  fsai.refresh(other.to(gpu()).view());
  EXPECT_NE(detail::EnqueuedProduct<double>::of(fsai)->recording_id(), recorded);
  expect_same_bits(fsai.g(), FsaiPreconditioner<double>(other.view()).g());
  SpaiPreconditioner<double> spai(a.to(gpu()).view(), {}, gpu());
  spai.refresh(other.to(gpu()).view());
  expect_same_bits(spai.m(), SpaiPreconditioner<double>(other.view()).m());
  const auto of = [](const std::vector<std::vector<double>>& dense) -> std::string {
    try {
      const Csr<double> matrix = from_dense<double>(dense, static_cast<std::int64_t>(dense.size())).to(gpu());
      const FsaiPreconditioner<double> m(matrix.view(), {}, gpu());
    } catch (const InvalidMatrix& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(of({{2, 1}, {3, 2}}), "fsai needs a symmetric matrix: entry (2, 1) is 3, but entry (1, 2) is 1");
  EXPECT_EQ(of({{4, 0, 0}, {0, 1, 2}, {0, 2, 1}}),
            "fsai needs a positive definite matrix: the submatrix of the pattern of row 3 is not");
  const FsaiPreconditioner<double> none(Csr<double>().to(gpu()).view(), {}, gpu());
  EXPECT_EQ(none.factor().nnz, 0);
}

}  // namespace
}  // namespace tessera::testing
