/// \file
/// Lists of edges: separators, headers, ids and their numbers, weights, and what is refused.
#include "tessera/edge_list.hpp"
#include "tessera/error.hpp"

#include "tests/io/files.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

using Names = std::vector<std::string>;

/// The matrix as rows of "column:value" counted from 0, "column" in a pattern.
template <class T>
[[nodiscard]] std::string rows_of(const EdgeList<T>& list) {
  const CsrView<T> a = list.file.matrix.view();
  validate(a);
  std::string text;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    if (i > 0) text += "; ";
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      if (k > a.row_offsets[i]) text += ' ';
      text += std::to_string(a.columns[static_cast<std::size_t>(k)]);
      if (!a.is_pattern()) text += ':' + std::to_string(static_cast<int>(a.value(k)));
    }
  }
  return text;
}

[[nodiscard]] EdgeList<double> parse(std::string_view text) { return parse_edge_list<double>(text, "g.csv"); }

TEST(EdgeList, IntegersAreNumberedInTheirOrder) {
  const EdgeList<double> list = parse("# Directed graph\n% another comment\n30\t-2\n\n7\t30\r\n30\t30\n");
  EXPECT_EQ(list.labels, (Names{"-2", "7", "30"}));
  EXPECT_EQ(rows_of(list), "; 2; 0 2");
  EXPECT_TRUE(list.file.matrix.is_pattern());
  EXPECT_EQ(list.file.header.field, MatrixMarketField::pattern);
  EXPECT_EQ(list.file.header.entries, 3);
}

TEST(EdgeList, GapsTakeNoVertices) {
  const EdgeList<double> list = parse("9223372036854775807 -9223372036854775808\n5 5\n");
  EXPECT_EQ(list.labels, (Names{"-9223372036854775808", "5", "9223372036854775807"}));
  EXPECT_EQ(rows_of(list), "; 1; 0");
}

TEST(EdgeList, NamesAreNumberedByFirstAppearance) {
  const EdgeList<double> list = parse("zoe,adam,2\nadam, bob ,3\nzoe,zoe,1\n");
  EXPECT_EQ(list.labels, (Names{"zoe", "adam", "bob"}));
  EXPECT_EQ(rows_of(list), "0:1 1:2; 2:3; ");
}

TEST(EdgeList, OneNameMakesAllIdsNames) {
  EXPECT_EQ(parse("2 1\n1 a\n").labels, (Names{"2", "1", "a"}));
  // Spelled otherwise than numbers are: 007 is not 7.
  EXPECT_EQ(parse("7 007\n").labels, (Names{"7", "007"}));
  EXPECT_EQ(parse("7 +7\n").labels, (Names{"7", "+7"}));
  EXPECT_EQ(parse("7 -0\n").labels, (Names{"7", "-0"}));
  EXPECT_EQ(parse("2 99999999999999999999\n").labels, (Names{"2", "99999999999999999999"}));
}

TEST(EdgeList, SeparatorsAndQuotes) {
  EXPECT_EQ(parse("\"New York, NY\",\"the \"\"big\"\" one\"\nnew,\"New York, NY\"\n").labels,
            (Names{"New York, NY", "the \"big\" one", "new"}));
  EXPECT_EQ(parse("a b;c d;1\n").labels, (Names{"a b", "c d"}));
  EXPECT_EQ(parse("a b\tc d\n").labels, (Names{"a b", "c d"}));
  EXPECT_EQ(parse("a  b\n c d \n").labels, (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(rows_of(parse("\xef\xbb\xbf"
                          "1,2\n2,1\n")),
            "1; 0");
  // The same name quoted and not, with quotes in it and without.
  EXPECT_EQ(parse("\"a\",a\n\"\"\"\",\"\"\"\"\n").labels, (Names{"a", "\""}));
}

TEST(EdgeList, Headers) {
  for (const char* text :
       {"source,target,weight\n1,2,5\n2,1,6\n", "x,y,z\n1,2,5\n2,1,6\n", "# c\nSrc;dst;w\n1;2;5\n2;1;6\n",
        "from to w\n1 2 5\n2 1 6\n", "FromNodeId\tToNodeId\tw\n1\t2\t5\n2\t1\t6\n"}) {
    const EdgeList<double> list = parse(text);
    EXPECT_EQ(list.labels, (Names{"1", "2"})) << text;
    EXPECT_EQ(rows_of(list), "1:5; 0:6") << text;
    EXPECT_EQ(list.file.header.entries, 2) << text;
  }
  EXPECT_EQ(parse("page,links to\n1,2\n").labels, (Names{"1", "2"}));
  EXPECT_EQ(parse("source,target\nzoe,adam\n").labels, (Names{"zoe", "adam"}));
  // No header: names among names, and a single line.
  EXPECT_EQ(parse("page,links\nzoe,adam\n").labels, (Names{"page", "links", "zoe", "adam"}));
  EXPECT_EQ(parse("zoe,adam\n").labels, (Names{"zoe", "adam"}));
  EXPECT_EQ(parse("root,1\n1,2\n").labels, (Names{"root", "1", "2"}));
}

TEST(EdgeList, RepeatedEdges) {
  const EdgeList<double> weighted = parse("1 2 0.5\n1 2 1.5\n2 2 0\n");
  EXPECT_EQ(rows_of(weighted), "1:2; 1:0");
  EXPECT_EQ(weighted.file.duplicates, 1);
  EXPECT_EQ(weighted.file.explicit_zeros, 1);
  const EdgeList<double> pattern = parse("1 2\n1 2\n1 2\n");
  EXPECT_EQ(rows_of(pattern), "1; ");
  EXPECT_EQ(pattern.file.duplicates, 2);
}

TEST(EdgeList, ManyEdgesGetTheSameNumbersWithAnyThreads) {
  std::string text = "source target w\n";
  for (int k = 0; k < 200000; ++k) text += std::to_string(k * 7919 % 100003) + ' ' + std::to_string(k % 1000) + " 1\n";
  ReadOptions four;
  four.device = Device::host(4);
  ReadOptions one;
  one.device = Device::host(1);
  const auto a = parse_edge_list<float>(text, "g", four);
  const auto b = parse_edge_list<float>(text, "g", one);
  EXPECT_EQ(a.labels.size(), 100003U);
  EXPECT_EQ(a.labels[12345], "12345");
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(rows_of(a), rows_of(b));
}

TEST(EdgeList, Compressed) {
  const testing::TemporaryDirectory directory;
  testing::write_text(directory.file("g.csv.gz"), testing::gzip("a,b\nb,c\n"));
  EXPECT_EQ(read_edge_list<double>(directory.file("g.csv.gz")).labels, (Names{"a", "b", "c"}));
}

template <class T = double>
[[nodiscard]] std::string refusal(std::string_view text, Duplicates duplicates = Duplicates::sum) {
  ReadOptions options;
  options.duplicates = duplicates;
  try {
    static_cast<void>(parse_edge_list<T>(text, "g.csv", options));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(EdgeList, RefusalsNameLineAndColumn) {
  EXPECT_EQ(refusal(""), "g.csv:1:1: expected a list of edges, found no edge");
  EXPECT_EQ(refusal("# only\n# comments\n"), "g.csv:3:1: expected a list of edges, found no edge");
  EXPECT_EQ(refusal("source,target\n"), "g.csv:2:1: expected edges below the header, found the end of the file");
  EXPECT_EQ(refusal("# c\n1\n"), "g.csv:2:1: expected an edge (from, to, and perhaps a weight), found \"1\"");
  EXPECT_EQ(refusal("1 2 3 4\n"), "g.csv:1:1: expected an edge (from, to, and perhaps a weight), found \"1 2 3 4\"");
  EXPECT_EQ(refusal("1,2\n3,4,5\n"), "g.csv:2:1: expected 2 fields (from, to) as before, found 3 in \"3,4,5\"");
  EXPECT_EQ(refusal("1,2,3\n3,4,5,6\n"),
            "g.csv:2:1: expected 3 fields (from, to, weight) as before, found more in \"3,4,5,6\"");
  EXPECT_EQ(refusal("1,2\n3,\n"), "g.csv:2:3: expected the id of a vertex, found an empty field in \"3,\"");
  EXPECT_EQ(refusal("1,2\n3,\"4\n"), R"(g.csv:2:3: expected a closing quote in the same line, found "3,\"4")");
  EXPECT_EQ(refusal("\"1\"x,2\n"), R"(g.csv:1:4: expected the next field after the closing quote, found "\"1\"x,2")");
  EXPECT_EQ(refusal("1 2 3\n1 2 heavy\n"), "g.csv:2:5: expected a weight, a finite number, found \"heavy\"");
  EXPECT_EQ(refusal("1 2 inf\n"), "g.csv:1:5: expected a weight, a finite number, found \"inf\"");
  EXPECT_EQ(refusal("1 2 nan\n1 2 3\n"), "g.csv:1:5: expected a weight, a finite number, found \"nan\"");
  EXPECT_EQ(refusal<float>("1 2 1e300\n"),
            "g.csv:1:5: expected a weight, a finite number that fits single precision, found \"1e300\"");
  EXPECT_EQ(refusal("1 2 1e308\n1 2 1e308\n"), "g.csv: the repeated entries at row 1, column 2 sum to inf");
  EXPECT_EQ(refusal("a b\nb c\n# c\na b\n", Duplicates::error),
            "g.csv:4:1: expected every edge once, found the one from \"a\" to \"b\" again");
}

TEST(EdgeList, MemoryLimit) {
  ReadOptions options;
  options.memory_limit_bytes = 100;
  EXPECT_THROW(static_cast<void>(parse_edge_list<double>("1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n", "g", options)), OutOfMemory);
}

}  // namespace
}  // namespace tessera
