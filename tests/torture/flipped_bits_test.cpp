/// Every flipped bit of a binary file is found.
#include "tessera/tessera.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/torture/budget.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tessera::testing {
namespace {

TEST(Torture, EveryFlippedBitOfABinaryFileIsFound) {
  const auto path = std::filesystem::temp_directory_path() / ("tessera-flips-" + std::to_string(::getpid()) + ".tsb");
  const auto matrix = with_row_lengths<double>(power_law_lengths(60, 20, 3), 40, ValueStorage::weighted);
  write_binary(path, matrix.view());
  std::ifstream in(path, std::ios::binary);
  const std::string valid{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  ASSERT_NO_THROW(static_cast<void>(read_binary<double>(path)));
  std::mt19937_64 random(11);
  for (std::uint64_t k = 0; k < torture_cases(3000); ++k) {
    // First the head, bit by bit: its fields are read before any checksum.
    const std::size_t bit = k < 1024 ? k : random() % (8 * valid.size());
    std::string flipped = valid;
    flipped[bit / 8] = static_cast<char>(static_cast<unsigned char>(flipped[bit / 8]) ^ (1U << (bit % 8)));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << flipped;
    EXPECT_THROW(static_cast<void>(read_binary<double>(path)), Error) << "bit " << bit;
    if (::testing::Test::HasFailure()) break;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tessera::testing
