// Sparsification by rows on a GPU: the bits of the host, which keep_test.cpp holds against sorted rows.
#include "tests/preprocess/keep_cases.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {
namespace {

class KeepCuda : public testing::CudaTest {};

template <class T>
void check(const Device& gpu, const Csr<T>& a) {
  const Csr<T> on_gpu = a.to(gpu);
  for (const Keep& keep : testing::keep_rules()) {
    SCOPED_TRACE(::testing::Message() << "tolerance " << keep.tolerance << ", most " << keep.most);
    const Csr<T> kept = keep_entries(on_gpu, keep);
    EXPECT_TRUE(kept.device() == gpu);
    testing::expect_identical(kept.to(Device{}).view(), keep_entries(a, keep).view());
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  const Keep keep{.tolerance = 2.0};
  testing::expect_identical(keep_entries(on_gpu, keep, 3).to(Device{}).view(), keep_entries(a, keep, 3).view());
}

TEST_F(KeepCuda, AdversarialMatrices) {
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<double>(storage, {})) {
      if (testing::is_too_large_here(matrix.rows() + matrix.nnz(), 6000)) continue;
      SCOPED_TRACE(name);
      check(gpu(), matrix);
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }
}

TEST_F(KeepCuda, AwkwardMagnitudes) {
  check(gpu(), testing::awkward_magnitudes<double>());
  check(gpu(), testing::awkward_magnitudes<float>());
}

TEST_F(KeepCuda, Floats) {
  check(gpu(), testing::with_row_lengths<float>(testing::power_law_lengths(300, 700, 3), 900, ValueStorage::weighted));
}

}  // namespace
}  // namespace tessera
