/// Mutated files: the command either refuses them as bad input or use, or reads what an independent small parser reads.
#include "tests/apps/solve_process.hpp"
#include "tests/torture/budget.hpp"

#include <zlib.h>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <random>

namespace tessera::testing {
namespace {

constexpr const char* general =
    "%%MatrixMarket matrix coordinate real general\n% c\n4 4 5\n1 1 4.5\n2 2 -2e-3\n3 3 12\n4 4 1\n1 3 +4\n";
constexpr const char* vector_text = "%%MatrixMarket matrix array real general\n4 1\n1\n2.5\n-3\n1e2\n";

[[nodiscard]] std::string mutated(std::string text, std::mt19937_64& random) {
  static const std::array<std::string, 10> fragments{"0", "-1", "4", "e", ".", "\n", " ", "2147483648", "nan", "%"};
  for (std::size_t steps = 1 + random() % 2; steps > 0; --steps) {
    const std::size_t at = random() % (text.size() + 1);
    switch (random() % 4) {
      case 0:
        text.insert(at, fragments[random() % fragments.size()]);
        break;
      case 1:
        text.erase(at, 1 + random() % 4);
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      default:
        if (at < text.size()) text.replace(at, 1, fragments[random() % fragments.size()]);
    }
  }
  return text;
}

using Triplets = std::map<std::pair<long, long>, double>;

/// Coordinate files of real, general matrices alone, line by line through iostreams.
[[nodiscard]] Triplets parsed(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  bool sized = false;
  Triplets triplets;
  while (std::getline(lines, line)) {
    const auto fields = words(line);
    if (fields.empty() || fields[0][0] == '%') continue;
    if (!std::exchange(sized, true)) continue;
    triplets[{std::stol(fields[0]), std::stol(fields[1])}] += std::stod(fields[2]);
  }
  return triplets;
}

[[nodiscard]] std::string gzipped(const std::string& text) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  if (deflateInit2(&stream, 9, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::vector<unsigned char> input(text.begin(), text.end());
  std::vector<unsigned char> output(text.size() + 256);
  stream.next_in = input.data();
  stream.avail_in = static_cast<unsigned>(input.size());
  stream.next_out = output.data();
  stream.avail_out = static_cast<unsigned>(output.size());
  deflate(&stream, Z_FINISH);
  const std::string result(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(stream.total_out));
  deflateEnd(&stream);
  return result;
}

class TortureFiles : public SolveTest {
 protected:
  /// Runs one command per mutation. \returns how often it was accepted
  template <class Check>
  std::uint64_t mutate(const std::string& valid, const std::string& name, const std::string& command, Check&& check) {
    std::uint64_t accepted = 0;
    for (std::uint64_t seed = 0; seed < torture_cases(80) && !HasFailure(); ++seed) {
      std::mt19937_64 random(seed);
      const std::string text = mutated(valid, random);
      file(name, text);
      const ProcessResult result = run(command);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + command + "\n" + text + "\n" + result.err);
      EXPECT_EQ(result.signal, 0);
      EXPECT_FALSE(result.timed_out);
      EXPECT_NE(result.exit_code, 1);
      if (result.exit_code == 0) {
        ++accepted;
        check(text);
      } else if (result.exit_code != 3 && result.exit_code != 4) {  // these are endings of a solve
        EXPECT_FALSE(result.err.empty());
      }
      // 6 is a size that no memory holds.
      EXPECT_LE(result.exit_code, 6);
    }
    return accepted;
  }
};

TEST_F(TortureFiles, AcceptedTextHoldsWhatAnotherParserReads) {
  const auto same = [&](const std::string& text) {
    const Triplets expected = parsed(text);
    const Triplets read = parsed(contents(path("out.mtx")));
    EXPECT_EQ(read, expected);
  };
  EXPECT_GT(mutate(general, "a.mtx", "convert a.mtx out.mtx --force --symmetric general", same), 0U);
}

TEST_F(TortureFiles, GzipIsReadInFullOrRefused) {
  const auto same = [&](const std::string&) { EXPECT_EQ(parsed(contents(path("out.mtx"))), parsed(general)); };
  mutate(gzipped(general), "a.mtx.gz", "convert a.mtx.gz out.mtx --force --symmetric general", same);
}

TEST_F(TortureFiles, BinaryIsReadInFullOrRefused) {
  file("v.mtx", general);
  ASSERT_EQ(run("convert v.mtx v.tsb").exit_code, 0);
  const auto same = [&](const std::string&) { EXPECT_EQ(parsed(contents(path("out.mtx"))), parsed(general)); };
  mutate(contents(path("v.tsb")), "a.tsb", "convert a.tsb out.mtx --force --symmetric general", same);
}

TEST_F(TortureFiles, VectorsAndSettingsAreReadOrRefused) {
  file("a.mtx", general);
  const auto nothing = [](const std::string&) {};
  mutate(vector_text, "b.mtx", "-m direct a.mtx -b b.mtx -q", nothing);
  mutate("rtol = 1e-8\nmethod = \"gmres\"\nmax-iters = 100\n", "c.toml", "a.mtx -c c.toml -q", nothing);
  mutate(R"({"rtol": 1e-8, "method": "gmres", "max-iters": 100})", "c.json", "a.mtx -c c.json -q", nothing);
}

}  // namespace
}  // namespace tessera::testing
