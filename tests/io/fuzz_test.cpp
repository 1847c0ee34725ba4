// Seeded mutations of small files. Whatever comes in, the reader returns a valid matrix or throws a documented error.
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/io/files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tessera {
namespace {

const std::vector<std::string> seeds{
    "%%MatrixMarket matrix coordinate real general\n% c\n3 4 4\n1 1 1.5\n2 4 -2e-3\n3 2 1D2\n1 3 +4\n",
    "%%MatrixMarket matrix coordinate integer symmetric\r\n3 3 3\r\n1 1 7\r\n2 1 -3\r\n3 3 2\r\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n4 4\n4 3\n",
    "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1e300\n3 1 1e-300\n",
    "%%MatrixMarket matrix array real general\n2 2\n1.0\n0\n-3\n4e4\n",
    "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n",
    "%%MatrixMarket matrix coordinate real general\n5 1 2\n5 1 3.25\n2 1 1\n",
};

const std::vector<std::string> fragments{"0",
                                         "-1",
                                         "2147483647",
                                         "2147483648",
                                         "9223372036854775807",
                                         "1e999",
                                         "nan",
                                         "inf",
                                         "%",
                                         "\n",
                                         "\r",
                                         "\t",
                                         " ",
                                         "+",
                                         "-",
                                         ".",
                                         "e",
                                         "D",
                                         "3",
                                         "complex",
                                         "array",
                                         "general",
                                         "symmetric",
                                         "pattern",
                                         "1 1 1\n",
                                         "99999999999999999999",
                                         std::string(1, '\0'),
                                         "\xff",
                                         "1e-999"};

std::string mutate(std::string text, std::mt19937_64& random) {
  for (std::size_t steps = 1 + random() % 2; steps > 0; --steps) {
    // Most damage to the first line is fatal at once, so most goes behind it.
    const std::size_t body = random() % 5 == 0 ? 0 : std::min(text.find('\n'), text.size());
    const std::size_t at = body + random() % (text.size() - body + 1);
    switch (random() % 6) {
      case 0:
        text.insert(at, fragments[random() % fragments.size()]);
        break;
      case 1:
        text.erase(at, 1 + random() % 5);
        break;
      case 2:
        text.resize(at);
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 4: {
        const std::string piece = text.substr(at, random() % 30);
        text.insert(random() % (text.size() + 1), piece);
        break;
      }
      default:
        if (at < text.size()) text.replace(at, 1, fragments[random() % fragments.size()]);
        break;
    }
  }
  return text;
}

enum class Outcome { accepted, refused };

/// Any exception but the documented ones escapes and fails the test.
template <class Read>
Outcome outcome_of(Read&& read) {
  try {
    read();
    return Outcome::accepted;
  } catch (const ParseError& e) {
    EXPECT_GE(e.line(), 1);
    EXPECT_GE(e.column(), 1);
  } catch (const InvalidMatrix&) {
  } catch (const OutOfMemory&) {
  }
  return Outcome::refused;
}

ReadOptions small() {
  ReadOptions options;
  options.memory_limit_bytes = std::uint64_t{1} << 24;
  options.device = Device::host(2);
  return options;
}

TEST(Fuzz, SeedsAreSound) {
  for (const std::string& seed : seeds) EXPECT_NO_THROW(static_cast<void>(parse_matrix_market<double>(seed, "seed")));
}

TEST(Fuzz, MutatedText) {
  std::mt19937_64 random(20240607);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::string text = mutate(seeds[random() % seeds.size()], random);
    SCOPED_TRACE(text);
    const Outcome outcome = outcome_of([&] {
      const auto m = parse_matrix_market<double>(text, "fuzz", small());
      validate(m.matrix.view());
      EXPECT_EQ(m.matrix.rows(), m.header.rows);
      EXPECT_EQ(m.matrix.cols(), m.header.cols);
    });
    // A number may overflow in float, but nothing that double refuses can pass.
    const Outcome in_float =
        outcome_of([&] { validate(parse_matrix_market<float>(text, "fuzz", small()).matrix.view()); });
    EXPECT_TRUE(outcome == Outcome::accepted || in_float == Outcome::refused);
    ++(outcome == Outcome::accepted ? accepted : refused);
    static_cast<void>(outcome_of([&] { static_cast<void>(parse_vector<double>(text, "fuzz", small())); }));
  }
  // Both happen often, or the mutations would test nothing.
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 3000);
}

TEST(Fuzz, MutatedGzip) {
  const testing::TemporaryDirectory dir;
  std::mt19937_64 random(99);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = testing::gzip(seeds[random() % seeds.size()]);
    for (std::size_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 3 == 0) bytes.resize(random() % bytes.size());
    testing::write_text(dir.file("f.gz"), bytes);
    static_cast<void>(
        outcome_of([&] { validate(read_matrix_market<double>(dir.file("f.gz"), small()).matrix.view()); }));
  }
}

}  // namespace
}  // namespace tessera
