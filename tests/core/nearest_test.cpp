#include "tessera/nearest.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tessera {

namespace {

TEST(NearestName, CountsSwappedNeighboursOnceAndOverlooksCapitals) {
  constexpr std::array<std::string_view, 2> words{"cg", "bicgstab"};
  EXPECT_EQ(nearest_name("gc", words), "cg");
  EXPECT_EQ(nearest_name("BiCGStab", words), "bicgstab");
  EXPECT_EQ(nearest_name("bicg", words), "bicgstab") << "its only beginning";
  EXPECT_EQ(nearest_name("x", words), "");
  EXPECT_EQ(nearest_name("", words), "");
  EXPECT_EQ(nearest_name("gmres", words), "");
}

TEST(NearestName, FindsTypingErrorsOnly) {
  constexpr std::array<std::string_view, 3> words{"--rtol", "--atol", "--max-iters"};
  EXPECT_EQ(nearest_name("--rtoll", words), "--rtol");
  EXPECT_EQ(nearest_name("--max-iter", words), "--max-iters");
  EXPECT_EQ(nearest_name("--something-else", words), "");
}

TEST(NearestName, IsSaidInTheWordsOfItsPlace) {
  const std::vector<std::string> names{"csr", "merbit"};
  const std::vector<std::string_view> views(names.begin(), names.end());
  EXPECT_EQ(did_you_mean("merbti", names), "did you mean merbit?");
  EXPECT_EQ(nearest_hint("merbti", views), "; did you mean 'merbit'?");
  EXPECT_EQ(did_you_mean("spmm", names), "");
  EXPECT_EQ(nearest_hint("spmm", views), "");
}

}  // namespace

}  // namespace tessera
