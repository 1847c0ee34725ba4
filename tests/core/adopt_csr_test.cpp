// Matrices on the arrays of other libraries, on the host.
#include "tests/core/adopt_csr_cases.hpp"

#include "tessera/error.hpp"

#include <string>

namespace tessera {
namespace {

TEST(AdoptCsr, StaysInPlace) {
  testing::expect_adopted_in_place<std::int32_t>(Device{});
  testing::expect_adopted_in_place<std::int64_t>(Device{});
  testing::expect_owner_kept(Device{});
}

TEST(AdoptCsr, IsCheckedInFull) {
  const std::vector<index_t> columns{2, 0};
  const std::vector<double> values{1.0, 2.0};
  const auto refusal = [&](const std::vector<std::int32_t>& offsets, std::int64_t cols) -> std::string {
    try {
      static_cast<void>(adopt_csr<double>(1, cols, offsets, columns, values));
    } catch (const InvalidMatrix& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({0, 2}, 3).find("row 0"), std::string::npos) << "columns must ascend";
  EXPECT_NE(refusal({0, 2}, 2), "") << "column 2 of 2";
  EXPECT_NE(refusal({0, 1}, 3), "") << "the last offset is not the number of nonzeros";
  EXPECT_NE(refusal({0, -1}, 3), "");
  EXPECT_NE(refusal({0}, 3), "") << "an offset is missing";
}

TEST(AdoptCsr, EveryFaultIsFound) { testing::expect_checked(Device{}); }
TEST(AdoptCsr, NarrowsColumnsOf64Bits) { testing::expect_narrowed(Device{}); }
TEST(AdoptCsr, GivesItsArraysAway) { testing::expect_released(Device{}); }

TEST(AdoptCsr, EmptyAndEmptyRows) {
  const std::vector<std::int32_t> none{0};
  const Csr<float> empty = adopt_csr<float>(0, 0, none, {}, {});
  EXPECT_EQ(empty.rows(), 0);
  const std::vector<std::int32_t> zeros{0, 0, 0};
  const Csr<float> rows = adopt_csr<float>(2, 7, zeros, {}, {});
  EXPECT_EQ(rows.nnz(), 0);
  EXPECT_EQ(rows.cols(), 7);
}

}  // namespace
}  // namespace tessera
