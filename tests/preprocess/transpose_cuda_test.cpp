// Transposition on a GPU: the bits of the host, whose result transpose_test.cpp holds against Eigen.
#include "core/value_passes.hpp"
#include "preprocess/transpose_map.hpp"
#include "tessera/statistics.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/cuda_test.hpp"

#include <cstring>
#include <utility>

namespace tessera {

using namespace detail;
namespace {

class TransposeCuda : public testing::CudaTest {};

template <class U>
[[nodiscard]] bool same_bits(const Array<U>& on_gpu, const Array<U>& on_host) {
  const Array<U> fetched = on_gpu.to(Device{});
  return fetched.size() == on_host.size() &&
         (fetched.empty() || std::memcmp(fetched.data(), on_host.data(), fetched.bytes()) == 0);
}

template <class T>
void expect_same(const Csr<T>& on_gpu, const Csr<T>& on_host) {
  ASSERT_EQ(on_gpu.rows(), on_host.rows());
  ASSERT_EQ(on_gpu.cols(), on_host.cols());
  ASSERT_EQ(on_gpu.is_pattern(), on_host.is_pattern());
  ASSERT_TRUE(same_bits(on_gpu.row_offsets(), on_host.row_offsets()));
  ASSERT_TRUE(same_bits(on_gpu.columns(), on_host.columns()));
  ASSERT_TRUE(same_bits(on_gpu.values(), on_host.values()));
}

template <class T>
void check(const Device& gpu, const Csr<T>& matrix) {
  const Csr<T> on_gpu = matrix.to(gpu);
  const Csr<T> transposed = transpose(matrix.view());
  expect_same(transpose(on_gpu.view(), gpu), transposed);
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  const TransposeMap<T> map = transpose_map(on_gpu.view(), gpu);
  const TransposeMap<T> map_on_host = transpose_map(matrix.view(), Device::host(2));
  ASSERT_TRUE(same_bits(map.positions, map_on_host.positions));
  expect_same(map.structure, map_on_host.structure);
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  if (matrix.is_pattern()) return;
  Array<T> values(matrix.nnz(), Init::none, gpu);
  gather_values(gpu, map.positions.span(), on_gpu.values().span(), values.span());
  expect_same(map.structure.with_values(std::move(values)), transposed);
}

template <class T>
void check_adversarial(const Device& gpu) {
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<T>(storage, {672})) {
      SCOPED_TRACE(name);
      check(gpu, matrix);
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
  }
}

TEST_F(TransposeCuda, AdversarialMatricesOfDoubles) { check_adversarial<double>(gpu()); }
TEST_F(TransposeCuda, AdversarialMatricesOfFloats) { check_adversarial<float>(gpu()); }

TEST_F(TransposeCuda, SeveralBlocksOfEntries) {
  check(gpu(),
        testing::with_row_lengths<double>(testing::power_law_lengths(3000, 700, 3), 70000, ValueStorage::weighted));
  check(gpu(), testing::with_row_lengths<float>(testing::lengths_of(2, 6000), 6000, ValueStorage::weighted));
}

TEST_F(TransposeCuda, TwiceIsTheMatrix) {
  const auto matrix =
      testing::with_row_lengths<double>(testing::power_law_lengths(400, 90, 5), 100, ValueStorage::weighted);
  const Csr<double> on_gpu = matrix.to(gpu());
  expect_same(transpose(transpose(on_gpu.view(), gpu()).view(), gpu()), matrix);
}

}  // namespace
}  // namespace tessera
