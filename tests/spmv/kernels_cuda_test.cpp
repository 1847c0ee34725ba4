// Every kernel of a GPU, type and storage on every adversarial matrix.
#include "tests/spmv/cuda_check.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::near;

template <class T>
class CudaKernels : public testing::CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaKernels, Types);

constexpr ValueStorage storages[] = {ValueStorage::weighted, ValueStorage::pattern};

/// A tile of CSR5 and one of the merge kernel.
const std::vector<index_t> path_units = {128, 1152};

/// So long that carries of carries have to be joined.
std::vector<index_t> hub_lengths() {
  std::vector<index_t> lengths = testing::power_law_lengths(700, 900, 5);
  lengths[300] = testing::repetitions(600000, 300000);
  lengths[301] = 0;
  lengths[302] = testing::repetitions(300000, 30000);
  return lengths;
}

TYPED_TEST(CudaKernels, UpdatesAndSumsOfAdversarialMatrices) {
  for (const ValueStorage storage : storages) {
    const auto cases = testing::cuda_cases<TypeParam>(this->gpu(), storage);
    std::size_t number = 0;
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, path_units)) {
      ++number;
      for (std::size_t c = 0; c < cases.size(); ++c) {
        if (testing::is_spared(number, c, cases.size())) continue;
        const CudaCase& kernel = cases[c];
        SCOPED_TRACE(name + ", " + kernel.name() + (storage == ValueStorage::pattern ? ", pattern" : ""));
        const CudaProduct<TypeParam> product(matrix, kernel.options(this->gpu()));
        testing::check_all_products(product);
        testing::check_buffered_products(product);
        ASSERT_FALSE(this->HasFatalFailure());
      }
    }
  }
}

TYPED_TEST(CudaKernels, HubRowsOverManyBlocksOfCarries) {
  for (const ValueStorage storage : storages) {
    const auto matrix = testing::with_row_lengths<TypeParam>(hub_lengths(), 700000, storage);
    for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu(), storage)) {
      SCOPED_TRACE(kernel.name());
      testing::check_all_products(CudaProduct<TypeParam>(matrix, kernel.options(this->gpu())));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaKernels, EveryMeanRowLength) {
  for (const index_t length : {1, 2, 3, 4, 6, 7, 12, 13, 24, 25, 48, 49, 100, 300}) {
    std::vector<index_t> lengths = testing::lengths_of(997, length);
    lengths[11] = 0;
    lengths[12] = 5 * length;
    const auto matrix = testing::with_row_lengths<TypeParam>(lengths, 2000, ValueStorage::weighted);
    for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu())) {
      SCOPED_TRACE(kernel.name() + ", length " + std::to_string(length));
      testing::check_all_products(CudaProduct<TypeParam>(matrix, kernel.options(this->gpu())));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaKernels, NanInXReachesExactlyTheRowsThatHoldIt) {
  for (const ValueStorage storage : storages) {
    const auto matrix = testing::with_row_lengths<TypeParam>(testing::power_law_lengths(3000, 2000, 3), 2000, storage);
    auto x = testing::random_vector<TypeParam>(2000, 5);
    x[77] = std::numeric_limits<TypeParam>::quiet_NaN();
    for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu(), storage)) {
      const CudaProduct<TypeParam> product(matrix, kernel.options(this->gpu()));
      const std::vector<TypeParam> y = product.apply(x);
      const CsrView<TypeParam> a = product.matrix();
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto begin = a.columns.begin() + a.row_offsets[i];
        const auto end = a.columns.begin() + a.row_offsets[i + 1];
        ASSERT_EQ(std::isnan(y[i]), std::binary_search(begin, end, 77)) << kernel.name() << ", row " << i;
      }
    }
  }
}

TYPED_TEST(CudaKernels, EverySigmaOfCsr5) {
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(1500, 2000, 4), 2000, ValueStorage::weighted);
  for (const int bits : {32, 64}) {
    for (int sigma = 1; sigma <= (bits == 32 ? 17 : 48); ++sigma) {
      SCOPED_TRACE("sigma " + std::to_string(sigma) + ", bits " + std::to_string(bits));
      SpmvOptions options = CudaCase{SpmvAlgorithm::csr5}.options(this->gpu());
      options.sigma = sigma;
      options.descriptor_bits = bits;
      const CudaProduct<TypeParam> product(matrix, options);
      const auto x = testing::random_vector<TypeParam>(2000, 3);
      ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x))));
    }
  }
}

TYPED_TEST(CudaKernels, Csr5JoinsCarriesInThreeLevels) {
  // 32 nonzeros per tile, 256 carries per block: more than 256 * 256 tiles.
  const auto matrix = testing::with_row_lengths<TypeParam>({7, 2200000, 0, 40, 3}, 2200000, ValueStorage::pattern);
  SpmvOptions options = CudaCase{SpmvAlgorithm::csr5}.options(this->gpu());
  options.sigma = 1;
  testing::check_all_products(CudaProduct<TypeParam>(matrix, options));
}

TYPED_TEST(CudaKernels, EveryNumberOfRowsAroundTheTilesOfCsr5) {
  SpmvOptions options = CudaCase{SpmvAlgorithm::csr5}.options(this->gpu());
  options.sigma = 1;
  for (std::size_t rows = 0; rows < 140; ++rows) {
    SCOPED_TRACE("rows " + std::to_string(rows));
    const auto matrix = testing::with_row_lengths<TypeParam>(testing::lengths_of(rows, 1), 3, ValueStorage::weighted);
    testing::check_all_products(CudaProduct<TypeParam>(matrix, options));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaKernels, EmptyRowsWhereverTilesOfCsr5Meet) {
  SpmvOptions options = CudaCase{SpmvAlgorithm::csr5}.options(this->gpu());
  options.sigma = 1;
  for (const std::size_t gap : {1U, 2U, 40U}) {
    for (const index_t first : {32, 31, 1, 33}) {
      std::vector<index_t> lengths(gap);
      for (int i = 0; i < 8; ++i) {
        lengths.push_back(i == 0 ? first : 32);
        lengths.insert(lengths.end(), gap, 0);
      }
      SCOPED_TRACE("gap " + std::to_string(gap) + ", first row " + std::to_string(first));
      testing::check_all_products(
          CudaProduct<TypeParam>(testing::with_row_lengths<TypeParam>(lengths, 50, ValueStorage::weighted), options));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

}  // namespace
}  // namespace tessera
