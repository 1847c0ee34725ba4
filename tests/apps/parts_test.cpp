/// Parts of the command that are easier to test alone: units, the trend, the shortened history.

#include "option_values.hpp"
#include "progress.hpp"
#include "report_json.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cli {

namespace {

TEST(Units, NumbersAsPeopleWriteThem) {
  EXPECT_EQ(parse_number("1e-8"), 1e-8);
  EXPECT_EQ(parse_number("+2"), 2.0);
  EXPECT_EQ(parse_number("1%"), 0.01);
  EXPECT_EQ(parse_count("10000"), 10000);
  EXPECT_EQ(parse_count("1e6"), 1000000);
  EXPECT_EQ(parse_count("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parse_seconds("300"), 300.0);
  EXPECT_EQ(parse_seconds("300s"), 300.0);
  EXPECT_EQ(parse_seconds("5m"), 300.0);
  EXPECT_EQ(parse_seconds("2h"), 7200.0);
  EXPECT_EQ(parse_seconds("500ms"), 0.5);
  EXPECT_EQ(parse_bytes("8GiB"), std::uint64_t{8} << 30);
  EXPECT_EQ(parse_bytes("500MB"), 500000000U);
  EXPECT_EQ(parse_bytes("64K"), 65536U);
  EXPECT_EQ(parse_bytes("12"), 12U);
}

TEST(Units, AnythingElseIsNoNumber) {
  for (const char* text : {"", "abc", "1e", "1x", "nan", "inf", "-inf", "1e999", "--1", "1 2", "0x10 "}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
  for (const char* text : {"-1", "1.5", "1e-3", "1e300", "9223372036854775808000", "5%"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
  for (const char* text : {"-1s", "3x", "s", "1e308h"}) EXPECT_FALSE(parse_seconds(text)) << text;
  for (const char* text : {"-1", "8GiBs", "1e30GiB"}) EXPECT_FALSE(parse_bytes(text)) << text;
}

TEST(ResidualTrend, RecoversAnExactSlope) {
  ResidualTrend trend;
  for (int i = 0; i < 200; ++i) trend.add(i, 3.0 * std::pow(10.0, -0.031 * i));
  const auto fit = trend.fit();
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->decades_per_iteration, -0.031, 1e-9);
  EXPECT_NEAR(fit->r_squared, 1.0, 1e-9);
}

TEST(ResidualTrend, ScatterIsNoTrend) {
  ResidualTrend trend;
  for (int i = 0; i < 50; ++i) trend.add(i, i % 2 == 0 ? 1.0 : 1e-3);
  ASSERT_TRUE(trend.fit());
  EXPECT_LT(trend.fit()->r_squared, 0.1);
}

TEST(ResidualTrend, IgnoresWhatHasNoLogarithm) {
  ResidualTrend trend;
  for (const double value : {0.0, -1.0, std::nan(""), 1.0, 0.1}) trend.add(1, value);
  EXPECT_FALSE(trend.fit());
}

TEST(ProgressLine, ShowsTimeToGoOnlyWithATrend) {
  ResidualTrend falling;
  for (int i = 0; i <= 100; ++i) falling.add(i, std::pow(10.0, -0.04 * i));
  IterationInfo info{100, 10000, 1e-4, 1e-8, 2.0};
  // 4 decades to go at 0.04 a step: 100 more iterations of 20 ms.
  EXPECT_EQ(progress_line(info, falling, 3.0),
            "100/10000  resid 1.0e-04 (target 1e-08)  -0.040 dec/it  20 ms/it  elapsed 0:03  ETA ~0:02");
  EXPECT_EQ(progress_line(info, ResidualTrend(), 3661.0),
            "100/10000  resid 1.0e-04 (target 1e-08)  no trend  20 ms/it  elapsed 1:01:01");
}

TEST(DecimatedRows, KeepsShortHistoriesWhole) {
  EXPECT_TRUE(decimated_rows(0).empty());
  EXPECT_EQ(decimated_rows(10000).size(), 10000U);
}

TEST(DecimatedRows, KeepsBothEndsAndRisesBetween) {
  for (const std::size_t rows : {std::size_t{10001}, std::size_t{1000000}}) {
    const auto kept = decimated_rows(rows);
    EXPECT_LT(kept.size(), 1300U);
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(kept[i], i);
      EXPECT_EQ(kept[kept.size() - 100 + i], rows - 100 + i);
    }
    for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_LT(kept[i - 1], kept[i]);
  }
}

}  // namespace

}  // namespace tessera::cli
