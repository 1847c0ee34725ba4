#include "tessera/error.hpp"
#include "tessera/generators.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_generator(text));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(GeneratorSpec, ReadsSizeSeedAndParameters) {
  const GeneratorSpec spec = parse_generator("kmer:55e6,seed=3,chain=0.5");
  EXPECT_EQ(spec.family, "kmer");
  EXPECT_EQ(spec.size, 55'000'000);
  EXPECT_EQ(spec.seed, 3U);
  EXPECT_EQ(spec.parameters.at("chain"), 0.5);
  EXPECT_EQ(parse_generator("web").size, std::nullopt);
  EXPECT_EQ(parse_generator("web").seed, 42U);
  EXPECT_EQ(parse_generator("web", 5).seed, 5U);
  EXPECT_EQ(parse_generator("web:seed=18446744073709551615,10").seed, 18446744073709551615U);
  EXPECT_EQ(parse_generator("rmat:scale=10").parameters.at("scale"), 10.0);
}

TEST(GeneratorSpec, WritesWhatItReads) {
  EXPECT_EQ(to_string(parse_generator("kmer:1e3,seed=3,cross=0.25")), "kmer:1000,cross=0.25,seed=3");
  EXPECT_EQ(to_string(parse_generator("web")), "web:15000000,seed=42");
  EXPECT_EQ(to_string(parse_generator("rmat:scale=9")), "rmat:scale=9,seed=42");
  for (const GeneratorFamily& family : generator_families()) {
    const std::string text = to_string(parse_generator(family.name));
    EXPECT_EQ(to_string(parse_generator(text)), text);
  }
}

TEST(GeneratorSpec, RefusesByName) {
  EXPECT_EQ(refusal("kmr:5"),
            "generator 'kmr:5': unknown family 'kmr' of generated matrices: known are lap2d, fem3d, rmat, road, kmer, "
            "mawi, web, band, rowskew, poisson2d, poisson3d, anisotropic2d, anisotropic3d, rotaniso2d, helmholtz2d, "
            "stokes2d, convdiff, recirc3d, jump3d, elasticity3d, circuit, plgraph, powerlaw; did you mean 'kmer'?");
  EXPECT_EQ(refusal("kmer:5,chian=1"),
            "generator 'kmer:5,chian=1': kmer: unknown parameter 'chian': known are chain, cross, seed; did you mean "
            "'chain'?");
  EXPECT_EQ(refusal("kmer:many"), "generator 'kmer:many': size must be a number, got 'many'");
  EXPECT_EQ(refusal("kmer:1.5"), "generator 'kmer:1.5': size must be a whole number up to 2^53, got '1.5'");
  EXPECT_EQ(refusal("kmer:1e300"), "generator 'kmer:1e300': size must be a whole number up to 2^53, got '1e300'");
  EXPECT_EQ(refusal("kmer:nan"), "generator 'kmer:nan': size must be a number, got 'nan'");
  EXPECT_EQ(refusal("kmer:1e999"), "generator 'kmer:1e999': size must be a number, got '1e999'");
  EXPECT_EQ(refusal("kmer:0"), "generator 'kmer:0': kmer: size (rows) must be in [1, 2147483647], got 0");
  EXPECT_EQ(refusal("kmer:-1"), "generator 'kmer:-1': kmer: size (rows) must be in [1, 2147483647], got -1");
  EXPECT_EQ(refusal("kmer:3e9"), "generator 'kmer:3e9': kmer: size (rows) must be in [1, 2147483647], got 3000000000");
  EXPECT_EQ(refusal("poisson3d:1291"),
            "generator 'poisson3d:1291': poisson3d: size (points a side) must be in [1, 1290], got 1291");
  EXPECT_EQ(refusal("elasticity3d:1"),
            "generator 'elasticity3d:1': elasticity3d: size (nodes a side) must be in [2, 894], got 1");
  EXPECT_EQ(refusal("poisson3d:5,shuffle=2"),
            "generator 'poisson3d:5,shuffle=2': poisson3d: parameter 'shuffle' must be in [0, 1], got 2");
  EXPECT_EQ(refusal("kmer:"), "generator 'kmer:': a size or NAME=NUMBER is missing after ':' or ','");
  EXPECT_EQ(refusal("kmer:5,"), "generator 'kmer:5,': a size or NAME=NUMBER is missing after ':' or ','");
  EXPECT_EQ(refusal("kmer:5,6"), "generator 'kmer:5,6': '6' is a second size");
  EXPECT_EQ(refusal("kmer:5,seed=1,seed=2"), "generator 'kmer:5,seed=1,seed=2': parameter 'seed' is given twice");
  EXPECT_EQ(refusal("kmer:5,seed=-1"),
            "generator 'kmer:5,seed=-1': parameter 'seed' must be an integer in [0, 2^64), got '-1'");
  EXPECT_EQ(refusal("kmer:5,chain=1,chain=1"), "generator 'kmer:5,chain=1,chain=1': parameter 'chain' is given twice");
  EXPECT_EQ(refusal("kmer:5,chain=x"), "generator 'kmer:5,chain=x': parameter 'chain' must be a number, got 'x'");
  EXPECT_EQ(refusal("kmer:5,chain="), "generator 'kmer:5,chain=': parameter 'chain' must be a number, got ''");
  EXPECT_EQ(refusal("kmer:5,chain=1.01"),
            "generator 'kmer:5,chain=1.01': kmer: parameter 'chain' must be in [0, 1], got 1.01");
  EXPECT_EQ(refusal("band:5,width=1.5"),
            "generator 'band:5,width=1.5': band: parameter 'width' must be a whole number, got 1.5");
  EXPECT_EQ(refusal("rmat:5,scale=3"), "generator 'rmat:5,scale=3': rmat: give a size or parameter 'scale', not both");
  EXPECT_NE(refusal(""), "accepted");
}

TEST(GeneratorSpec, ChecksAreMadeForSpecsOfOtherOrigin) {
  EXPECT_THROW(static_cast<void>(generate<double>({.family = "zzz"})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(generate<double>({.family = "kmer", .size = 0})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(generate<float>({.family = "kmer", .size = 5, .parameters = {{"p", 1}}})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(generate<float>({.family = "rmat", .parameters = {{"scale", 4}, {"a", 0.9}}})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(generate<double>({.family = "poisson2d", .size = 5, .parameters = {{"points", 6}}})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(generator_coordinates({.family = "kmer", .size = 5})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(generator_coordinates({.family = "elasticity3d", .size = 1})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(generated_bytes<double>({.family = "kmer", .size = -4})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(to_string(GeneratorSpec{.family = "kmer", .size = -4})), InvalidArgument);
}

TEST(GeneratorSpec, FamiliesDescribeThemselves) {
  EXPECT_EQ(generator_families().size(), 23U);
  for (const GeneratorFamily& family : generator_families()) {
    EXPECT_FALSE(family.description.empty()) << family.name;
    EXPECT_FALSE(family.size_means.empty()) << family.name;
    EXPECT_GE(family.default_size, family.min_size) << family.name;
    EXPECT_LE(family.default_size, family.max_size) << family.name;
    for (const GeneratorParameter& p : family.parameters) {
      EXPECT_FALSE(p.description.empty()) << family.name << ' ' << p.name;
      if (p.name == "scale") continue;
      EXPECT_TRUE(p.standard >= p.least && p.standard <= p.most) << family.name << ' ' << p.name;
    }
  }
}

TEST(GeneratorSpec, MemoryIsForeseen) {
  for (const GeneratorFamily& family : generator_families()) {
    const std::string size = family.max_size < 2000 ? ":30" : (family.max_size < 50000 ? ":150" : ":20000");
    for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
      const GeneratorSpec spec = parse_generator(std::string(family.name) + size);
      const auto foreseen = static_cast<double>(generated_bytes<double>(spec, storage));
      const auto needed = static_cast<double>(generate<double>(spec, storage).bytes());
      EXPECT_GE(foreseen, 0.98 * needed) << to_string(spec);
      // Networks are drafts with values, twice as long as a pattern in bytes, before duplicates are added up.
      const bool is_network = family.name == "circuit" || family.name == "plgraph";
      EXPECT_LE(foreseen, (is_network ? 5.0 : 3.0) * needed) << to_string(spec);
    }
  }
  for (const char* text : {"poisson3d:30,shuffle=1", "poisson2d:150,neumann=1,shuffle=1"}) {
    const GeneratorSpec spec = parse_generator(text);
    const double rows = text[7] == '3' ? 27000 : 22500;
    const auto matrix = static_cast<double>(generate<double>(spec).bytes());
    EXPECT_EQ(static_cast<double>(generated_bytes<double>(spec)), 2 * matrix + 4 * rows) << text;
  }
  // Full sizes are foreseen without being made: lap2d is known exactly.
  const double n = 25e6;
  const double nnz = 5 * n - 4 * 5000;
  EXPECT_EQ(static_cast<double>(generated_bytes<double>(parse_generator("lap2d"))), 8 * (n + 1) + 12 * nnz);
}

}  // namespace
}  // namespace tessera
