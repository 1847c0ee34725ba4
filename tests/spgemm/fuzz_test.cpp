// Random shapes.
#include "tests/spgemm/product_check.hpp"

#include <random>

namespace tessera {
namespace {

std::vector<index_t> random_lengths(std::mt19937_64& generator, index_t rows, index_t cols) {
  std::vector<index_t> lengths(static_cast<std::size_t>(rows));
  const auto kind = generator() % 4;
  const auto typical = generator() % 14;
  for (index_t& length : lengths) {
    length = static_cast<index_t>(generator() % (typical + 1));
    if (kind == 1 && generator() % 40 == 0) length = static_cast<index_t>(generator() % 500);
    if (kind == 2 && generator() % 3 != 0) length = 0;
    if (kind == 3 && generator() % 200 == 0) length = cols;
    length = std::min(length, cols);
  }
  return lengths;
}

template <class T>
void fuzz(std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto size = [&] { return static_cast<index_t>(generator() % (seed % 10 == 0 ? 3000 : 300)); };
  const auto storage = [&] { return generator() % 3 == 0 ? ValueStorage::pattern : ValueStorage::weighted; };
  const index_t rows = size();
  const index_t inner = size();
  const index_t cols = 1 + size();
  const auto a = testing::with_row_lengths<T>(random_lengths(generator, rows, inner), inner, storage(), seed);
  const auto b = testing::with_row_lengths<T>(random_lengths(generator, inner, cols), cols, storage(), seed + 1);
  const auto pick = [&](auto list) { return list[generator() % list.size()]; };
  for (int round = 0; round < 3; ++round) {
    auto options = testing::spgemm_options(pick(testing::with_automatic(spgemm_workflows())),
                                           pick(testing::with_automatic(spgemm_accumulators())),
                                           static_cast<int>(1 + generator() % 4));
    options.registers = pick(std::vector<int>{0, 32, 64, 128});
    SCOPED_TRACE(testing::name_of(options));
    const SpgemmResult<T> result = spgemm(a, b, options);
    ASSERT_TRUE(testing::is_product(a.view(), b.view(), result.matrix.view()));
    ASSERT_EQ(result.report.nnz, result.matrix.nnz());
    ASSERT_EQ(spgemm_pattern(a, b, options).matrix.nnz(), result.matrix.nnz());
  }
}

TEST(SpgemmFuzz, RandomShapes) {
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fuzz<double>(seed);
    fuzz<float>(1000 + seed);
    ASSERT_FALSE(HasFatalFailure());
  }
}

}  // namespace
}  // namespace tessera
