#include "preprocess/merge_search.hpp"

#include "tests/preprocess/naive_path.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera {

using namespace detail;
namespace {

using testing::all_small_offsets;
using testing::naive_path;

TEST(MergeSearch, FindsEveryPointOfEverySmallPath) {
  for (const auto& offsets : all_small_offsets(5, 4)) {
    const auto path = naive_path(offsets);
    const auto rows = static_cast<index_t>(offsets.size() - 1);
    ASSERT_EQ(static_cast<offset_t>(path.size()), path_length(rows, offsets.back()) + 1);
    for (std::size_t d = 0; d < path.size(); ++d) {
      ASSERT_EQ(merge_search(offsets.data(), rows, offsets.back(), static_cast<offset_t>(d)), path[d]);
    }
  }
}

TEST(MergeSearch, FindsEveryPointOfARandomLongPath) {
  std::mt19937_64 generator(3);
  std::vector<offset_t> offsets{0};
  for (int i = 0; i < 500; ++i) {
    offsets.push_back(offsets.back() + static_cast<offset_t>(generator() % 4 == 0 ? generator() % 50 : 0));
  }
  const auto path = naive_path(offsets);
  for (std::size_t d = 0; d < path.size(); ++d) {
    ASSERT_EQ(merge_search(offsets.data(), 500, offsets.back(), static_cast<offset_t>(d)), path[d]);
  }
}

TEST(MergeSearch, DiagonalsBeyond32Bits) {
  constexpr offset_t length = (offset_t{1} << 31) + 5;
  const std::vector<offset_t> offsets{0, length, 2 * length, 3 * length};
  const offset_t nnz = 3 * length;
  EXPECT_EQ(merge_search(offsets.data(), 3, nnz, 0), (PathPoint{0, 0}));
  EXPECT_EQ(merge_search(offsets.data(), 3, nnz, length), (PathPoint{length, 0}));
  EXPECT_EQ(merge_search(offsets.data(), 3, nnz, length + 1), (PathPoint{length, 1}));
  EXPECT_EQ(merge_search(offsets.data(), 3, nnz, length + 2), (PathPoint{length + 1, 1}));
  EXPECT_EQ(merge_search(offsets.data(), 3, nnz, 2 * length + 1), (PathPoint{2 * length, 1}));
  EXPECT_EQ(merge_search(offsets.data(), 3, nnz, 2 * length + 2), (PathPoint{2 * length, 2}));
  EXPECT_EQ(merge_search(offsets.data(), 3, nnz, nnz + 2), (PathPoint{nnz, 2}));
  EXPECT_EQ(merge_search(offsets.data(), 3, nnz, nnz + 3), (PathPoint{nnz, 3}));
}

TEST(MergeSearch, RunsAtCompileTime) {
  constexpr offset_t offsets[] = {0, 2, 2, 3};
  static_assert(merge_search(offsets, 3, 3, 3) == PathPoint{2, 1});
  static_assert(merge_search(offsets, 3, 3, 4) == PathPoint{2, 2});
  SUCCEED();
}

}  // namespace
}  // namespace tessera
