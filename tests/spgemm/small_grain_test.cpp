// Small grain: sparse products of small matrices, whose rows several threads share in blocks of a few products.
#include "tests/support/small_grain.hpp"
#include "tests/spgemm/product_check.hpp"

#include "core/parallel.hpp"
#include "tessera/generators.hpp"

namespace tessera {
namespace {

TEST(SmallGrainSpgemm, EveryWayGivesTheBitsOfOneThread) {
  const testing::SmallGrain grain;
  ASSERT_LT(host::serial_threshold(), 100);
  const std::vector<std::pair<std::vector<index_t>, index_t>> shapes{
      {testing::lengths_of(12, 3), 9},
      {testing::power_law_lengths(60, 40, 3), 50},
      {testing::one_long_row(40, 20, 64, 1), 64},
      {testing::lengths_of(30, 0), 30},
      {{5}, 40},
  };
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    SCOPED_TRACE("shape " + std::to_string(s));
    const auto& [lengths, inner] = shapes[s];
    const auto a = testing::with_row_lengths<double>(lengths, inner, ValueStorage::weighted, s);
    const auto b = testing::with_row_lengths<double>(testing::power_law_lengths(static_cast<std::size_t>(inner), 30, s),
                                                     33, ValueStorage::weighted, s + 9);
    testing::check_all_ways(a, b);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SmallGrainSpgemm, PowersOfAGraph) {
  const testing::SmallGrain grain;
  const auto a = generate<float>(parse_generator("rmat:100"));
  testing::check_all_ways(a, a);
}

}  // namespace
}  // namespace tessera
