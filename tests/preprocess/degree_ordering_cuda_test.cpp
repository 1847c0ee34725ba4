// Orderings and permutations on a GPU: the bits of the host, which degree_ordering_test.cpp and ordering_test.cpp hold
// against a stable sort and Eigen.
#include "preprocess/permuted.hpp"
#include "tessera/error.hpp"
#include "tessera/ordering.hpp"
#include "tessera/statistics.hpp"
#include "tests/preprocess/degree_ordering_cases.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"

#include <random>

namespace tessera {

using namespace detail;
namespace {

class DegreeOrderingCuda : public testing::CudaTest {};

std::vector<index_t> fetched(const Array<index_t>& array) {
  const Array<index_t> here = array.to(Device{});
  return {here.begin(), here.end()};
}

template <class T>
void check(const Device& gpu, const Csr<T>& matrix, const std::vector<index_t>& order) {
  const Csr<T> on_gpu = matrix.to(gpu);
  const auto order_there = Array<index_t>::copy_of(order, gpu);
  const Csr<T> found = permuted(on_gpu.view(), order_there.span(), gpu).to(Device{});
  testing::expect_identical(found.view(), permuted(matrix.view(), order).view());
  const Array<index_t> inverse = inverse_permutation(order, Device{});
  const Array<index_t> inverse_there = inverse_permutation(order_there.span(), gpu);
  EXPECT_EQ(fetched(inverse_there), fetched(inverse));
  EXPECT_EQ(fetched(permuted_positions(on_gpu.view(), order_there.span(), inverse_there.span(), gpu)),
            fetched(permuted_positions(matrix.view(), order, inverse.span(), Device{})));
}

template <class T>
void check_all(const Device& gpu, ValueStorage storage) {
  for (const auto& [name, matrix] : testing::square_matrices<T>(storage)) {
    SCOPED_TRACE(name);
    const std::vector<index_t> order = testing::degree_oracle(matrix.view());
    EXPECT_EQ(fetched(ordering(matrix.to(gpu).view(), Ordering::degree, gpu)), order);
    check(gpu, matrix, order);
    // And one that mixes all columns.
    std::vector<index_t> shuffled = order;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(7));
    check(gpu, matrix, shuffled);
    // One that ascends throughout.
    std::sort(shuffled.begin(), shuffled.end());
    check(gpu, matrix, shuffled);
  }
}

TEST_F(DegreeOrderingCuda, HasTheBitsOfTheHost) { check_all<double>(gpu(), ValueStorage::weighted); }
TEST_F(DegreeOrderingCuda, HasTheBitsOfTheHostForFloats) { check_all<float>(gpu(), ValueStorage::weighted); }
TEST_F(DegreeOrderingCuda, HasTheBitsOfTheHostForPatterns) { check_all<double>(gpu(), ValueStorage::pattern); }

TEST_F(DegreeOrderingCuda, OtherOrderingsAreThoseOfTheHost) {
  const auto a = testing::with_row_lengths<double>(testing::lengths_of(60, 3), 60, ValueStorage::weighted);
  const Csr<double> there = a.to(gpu());
  for (const Ordering kind : {Ordering::natural, Ordering::rcm, Ordering::amd}) {
    EXPECT_EQ(fetched(ordering(there.view(), kind, gpu())), ordering(a.view(), kind)) << to_string(kind);
  }
}

TEST_F(DegreeOrderingCuda, RefusesWhatIsNoPermutation) {
  const auto a = testing::make_csr<double>(3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3}).to(gpu());
  const auto refusal = [&](const std::vector<index_t>& order) {
    const auto there = Array<index_t>::copy_of(order, gpu());
    return testing::message_of<InvalidArgument>([&] { static_cast<void>(permuted(a.view(), there.span(), gpu())); });
  };
  EXPECT_EQ(refusal({0, 1, 1}), "not a permutation of 0 to 2: 1 at position 2 occurs twice");
  EXPECT_EQ(refusal({0, 3, 1}), "not a permutation of 0 to 2: 3 at position 1 is out of range");
  EXPECT_EQ(refusal({-1, 2, 1}), "not a permutation of 0 to 2: -1 at position 0 is out of range");
}

}  // namespace
}  // namespace tessera
