// More than 2^31 nonzeros. The matrix is put together on the GPU from copies of a short run of columns, so that every
// row sum is known; entries of x are small integers, so that sums are exact in any order.
#include "spmv/registry.hpp"
#include "tests/spmv/cuda_check.hpp"

#include <cstdlib>

namespace tessera {

using namespace detail;
namespace {

constexpr index_t cols = 1000;
/// A prime: columns repeat in no step with any power of two.
constexpr offset_t period = 50000017;

/// Column of nonzero k.
index_t column_of(offset_t k) { return static_cast<index_t>((k % period) * 7919 % cols); }

class CudaLarge : public testing::CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    if (std::getenv("TESSERA_LARGE_TESTS") == nullptr) GTEST_SKIP() << "TESSERA_LARGE_TESTS is unset";
    const std::uint64_t free_bytes = survey_cuda().devices.at(0).memory_free_bytes;
    if (free_bytes < 40'000'000'000) GTEST_SKIP() << "needs 40 GB of memory, " << free_bytes << " bytes are free";
  }
};

/// Short rows, empty ones, and in the middle a hub of 2^29, beyond which everything lies above 2^31.
std::vector<offset_t> make_offsets() {
  constexpr std::int64_t rows = 1 << 20;
  std::vector<offset_t> offsets{0};
  for (std::int64_t i = 0; i < rows; ++i) {
    const offset_t length = i == rows / 2 ? offset_t{1} << 29 : i % 5 == 0 ? 0 : 1500 + i % 1000;
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

Array<index_t> make_columns(offset_t nnz, const Device& gpu) {
  std::vector<index_t> run(static_cast<std::size_t>(period));
  for (offset_t k = 0; k < period; ++k) run[static_cast<std::size_t>(k)] = column_of(k);
  const auto source = Array<index_t>::copy_of(run, gpu);
  Array<index_t> columns(nnz, Init::none, gpu);
  for (offset_t k = 0; k < nnz; k += period) {
    const auto count = static_cast<std::uint64_t>(std::min(period, nnz - k));
    detail::copy_bytes(gpu, columns.data() + k, gpu, source.data(), count * sizeof(index_t));
  }
  return columns;
}

/// before[k]: sum of x over the columns of the nonzeros before k, for k up to one period.
std::vector<std::int64_t> running_sums(const std::vector<double>& x) {
  std::vector<std::int64_t> before{0};
  before.reserve(static_cast<std::size_t>(period) + 1);
  for (offset_t k = 0; k < period; ++k) {
    before.push_back(before.back() + static_cast<std::int64_t>(x[static_cast<std::size_t>(column_of(k))]));
  }
  return before;
}

TEST_F(CudaLarge, EveryKernelCountsBeyondTwoToThe31) {
  const std::vector<offset_t> offsets = make_offsets();
  ASSERT_GT(offsets.back(), offset_t{1} << 31);
  const auto row_offsets = Array<offset_t>::copy_of(offsets, gpu());
  const Array<index_t> columns = make_columns(offsets.back(), gpu());
  const auto rows = static_cast<index_t>(offsets.size() - 1);
  const CsrView<double> a{rows, cols, ValueStorage::pattern, row_offsets.span(), columns.span(), {}};
  std::vector<double> x(cols);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<double>(j * j % 7);
  const auto source = Array<double>::copy_of(x, gpu());
  const std::vector<std::int64_t> before = running_sums(x);
  const auto sum_before = [&](offset_t k) {
    return k / period * before.back() + before[static_cast<std::size_t>(k % period)];
  };
  for (const testing::CudaCase& kernel : testing::cuda_cases<double>(gpu(), ValueStorage::pattern)) {
    if (testing::is_vendor(kernel.algorithm)) continue;
    SCOPED_TRACE(kernel.name());
    const auto product = spmv_kernel_entry(kernel.algorithm).cuda.make_double(a, kernel.options(gpu()));
    const std::vector<double> poison(static_cast<std::size_t>(rows), std::numeric_limits<double>::quiet_NaN());
    auto target = Array<double>::copy_of(poison, gpu());
    product->apply(a, 1.0, source.span(), 0.0, target.span());
    const Array<double> y = target.to(Device{});
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto row = static_cast<std::size_t>(i);
      ASSERT_EQ(y[i], static_cast<double>(sum_before(offsets[row + 1]) - sum_before(offsets[row]))) << "row " << i;
    }
  }
}

}  // namespace
}  // namespace tessera
