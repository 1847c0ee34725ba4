#include "core/checked.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tessera {
namespace {

/// Every pair of 8-bit numbers against arithmetic that cannot overflow.
template <class I>
void all_pairs() {
  const int low = std::numeric_limits<I>::min();
  const int high = std::numeric_limits<I>::max();
  const auto check = [&](int exact, auto&& compute) {
    if (exact < low || exact > high) {
      EXPECT_THROW(static_cast<void>(compute()), InvalidArgument);
    } else {
      EXPECT_EQ(compute(), exact);
    }
  };
  for (int a = low; a <= high; ++a) {
    for (int b = low; b <= high; ++b) {
      check(a + b, [&] { return checked_add(static_cast<I>(a), static_cast<I>(b), "sum"); });
      check(a * b, [&] { return checked_multiply(static_cast<I>(a), static_cast<I>(b), "product"); });
    }
    for (const int wide : {a, a * 2, a - 200, a + 200}) {
      check(wide, [&] { return checked_cast<I>(wide, "number"); });
    }
  }
}

TEST(Checked, AllPairsOfSignedBytes) { all_pairs<std::int8_t>(); }
TEST(Checked, AllPairsOfUnsignedBytes) { all_pairs<std::uint8_t>(); }

TEST(Checked, MessagesNameTheQuantity) {
  const auto message_of = [](auto&& compute) -> std::string {
    try {
      static_cast<void>(compute());
    } catch (const InvalidArgument& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(message_of([] { return checked_multiply<std::int64_t>(1LL << 62, 4, "rows"); }),
            "rows: 4611686018427387904 * 4 overflows");
  EXPECT_EQ(message_of([] { return checked_cast<std::uint16_t>(-1, "column"); }), "column: -1 is outside [0, 65535]");
}

}  // namespace
}  // namespace tessera
