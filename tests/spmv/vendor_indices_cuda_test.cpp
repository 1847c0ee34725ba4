// The index arrays that cuSPARSE wants, against their definitions.
#include "spmv/vendor/indices.hpp"
#include "tests/spmv/cuda_check.hpp"

#include <numeric>

namespace tessera {

using namespace detail;
namespace {

class CudaIndices : public testing::CudaTest {
 protected:
  template <class T>
  static std::vector<T> download(const Array<T>& array) {
    const Array<T> copy = array.to(Device{});
    return {copy.begin(), copy.end()};
  }
};

TEST_F(CudaIndices, RowsAreExpanded) {
  // 2048 nonzeros per block.
  for (const auto& [name, matrix] : testing::adversarial_matrices<float>(ValueStorage::pattern, {2048})) {
    SCOPED_TRACE(name);
    std::vector<index_t> expected;
    for (index_t i = 0; i < matrix.rows(); ++i) {
      expected.insert(expected.end(), static_cast<std::size_t>(matrix.row_offsets()[i + 1] - matrix.row_offsets()[i]),
                      i);
    }
    const auto offsets = matrix.row_offsets().to(gpu());
    Array<index_t> row_of(matrix.nnz(), Init::none, gpu());
    cuda::expand_rows(gpu(), offsets.span(), row_of.span());
    EXPECT_EQ(download(row_of), expected);
  }
}

TEST_F(CudaIndices, OffsetsAreNarrowedAndOnesFilled) {
  for (const std::size_t size : {0U, 1U, 257U, 70001U}) {
    std::vector<offset_t> offsets(size);
    std::iota(offsets.begin(), offsets.end(), offset_t{2147483647} - static_cast<offset_t>(size));
    const auto wide = Array<offset_t>::copy_of(offsets, gpu());
    Array<std::int32_t> narrow(static_cast<std::int64_t>(size), Init::none, gpu());
    cuda::narrow_offsets(gpu(), wide.span(), narrow.span());
    EXPECT_EQ(download(narrow), std::vector<std::int32_t>(offsets.begin(), offsets.end()));
    Array<double> ones(static_cast<std::int64_t>(size), Init::none, gpu());
    cuda::fill_ones(gpu(), ones.span());
    EXPECT_EQ(download(ones), std::vector<double>(size, 1.0));
  }
}

}  // namespace
}  // namespace tessera
