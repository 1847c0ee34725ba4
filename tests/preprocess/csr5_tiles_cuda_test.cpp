// CSR5's tiles built on a GPU, bit by bit those of the host.
#include "preprocess/csr5_tiles.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {

using namespace detail;
namespace {

class CudaCsr5Tiles : public testing::CudaTest {
 protected:
  template <class U>
  static bool same(const Array<U>& on_host, const Array<U>& on_gpu) {
    const Array<U> copy = on_gpu.to(Device{});
    return testing::same_bytes(on_host.span(), copy.span());
  }

  static void compare(const Csr<float>& matrix, int sigma, int bits) {
    const Csr<float> on_gpu = matrix.to(gpu());
    const Csr5Tiles expected =
        build_csr5_tiles(matrix.rows(), matrix.row_offsets().span(), matrix.columns().span(), sigma, bits);
    const Csr5Tiles actual =
        build_csr5_tiles(matrix.rows(), on_gpu.row_offsets().span(), on_gpu.columns().span(), sigma, bits, gpu());
    EXPECT_EQ(actual.rows, expected.rows);
    EXPECT_EQ(actual.nnz, expected.nnz);
    EXPECT_EQ(actual.sigma, sigma);
    EXPECT_EQ(actual.descriptor_bits, bits);
    EXPECT_EQ(actual.bytes(), expected.bytes());
    EXPECT_TRUE(same(expected.tile_ptr, actual.tile_ptr));
    EXPECT_TRUE(same(expected.lane_words_32, actual.lane_words_32));
    EXPECT_TRUE(same(expected.lane_words_64, actual.lane_words_64));
    EXPECT_TRUE(same(expected.empty_ptr, actual.empty_ptr));
    EXPECT_TRUE(same(expected.empty_offset, actual.empty_offset));
    EXPECT_TRUE(same(expected.columns, actual.columns));
    if (matrix.is_pattern()) return;
    Array<float> expected_values(matrix.nnz());
    permute_csr5_values<float>(expected, matrix.values().span(), expected_values.span());
    Array<float> actual_values(matrix.nnz(), Init::none, gpu());
    permute_csr5_values<float>(actual, on_gpu.values().span(), actual_values.span(), gpu());
    EXPECT_TRUE(same(expected_values, actual_values));
  }
};

TEST_F(CudaCsr5Tiles, EqualThoseOfTheHost) {
  for (const auto& [sigma, bits] : {std::pair{1, 32}, {4, 32}, {7, 64}, {17, 32}, {48, 64}}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<float>(ValueStorage::weighted, {32 * sigma})) {
      SCOPED_TRACE(name + ", sigma " + std::to_string(sigma) + ", bits " + std::to_string(bits));
      compare(matrix, sigma, bits);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(CudaCsr5Tiles, EqualThoseOfTheHostForRandomShapes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 generator(seed);
    std::vector<index_t> lengths(generator() % 3000);
    for (index_t& length : lengths) {
      length = generator() % 3 == 0 ? 0 : static_cast<index_t>(generator() % (seed % 7 == 0 ? 300 : 9));
    }
    const int bits = generator() % 2 == 0 ? 32 : 64;
    const auto sigma = static_cast<int>(1 + generator() % static_cast<std::uint64_t>(csr5_max_sigma(bits)));
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare(testing::with_row_lengths<float>(lengths, 300, ValueStorage::pattern, seed), sigma, bits);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(CudaCsr5Tiles, EqualThoseOfTheHostForLongRowsAndStretchesOfEmptyOnes) {
  // Rows over many tiles, several in the same four rows, and more empty rows in a tile than a warp looks at.
  std::vector<index_t> lengths(1000, 0);
  for (const index_t length : {5000, 7001, 1, 6000, 32, 768, 5}) lengths.push_back(length);
  lengths.insert(lengths.end(), 700, 0);
  lengths.insert(lengths.end(), {3, 4097, 2});
  lengths.insert(lengths.end(), 333, 0);
  for (const auto& [sigma, bits] : {std::pair{1, 32}, {4, 32}, {16, 32}, {24, 64}, {48, 64}}) {
    SCOPED_TRACE("sigma " + std::to_string(sigma) + ", bits " + std::to_string(bits));
    compare(testing::with_row_lengths<float>(lengths, 7500, ValueStorage::weighted), sigma, bits);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace tessera
