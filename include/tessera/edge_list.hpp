/// \file
/// Graphs as lists of edges in text: one edge per line, "from to" or "from to weight", as SNAP, KONECT and spreadsheets
/// have them. The ids of the vertices may be names; they are kept.
#pragma once

#include "tessera/matrix_market.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A graph and the ids of its vertices.
template <class T>
struct EdgeList {
  /// n x n; the nonzero (i, j) is the edge from vertex i to vertex j, so that row i holds the out-links of i, as
  /// TransitionMatrix takes them. Without a column of weights a pattern matrix.
  MatrixMarketMatrix<T> file;
  std::vector<std::string> labels;  ///< n ids: labels[i] is that of vertex i (row and column i, 0-based)
};

/// Reads a list of edges. Every line is one directed edge; a self loop is an edge; edges that occur again are summed
/// with weights and count once without (EdgeList::file.duplicates says how many, Duplicates::error refuses them).
///
/// Lines that begin with '#' or '%' and blank lines are left out. The first other line decides what separates the two
/// or three fields of all lines: a comma, else a semicolon, else a tab, else blanks. Between commas, semicolons and
/// tabs, a field may stand in double quotes (RFC 4180, but within one line) and an id may hold blanks. The first line
/// is a header, and left out, where its weight is no number; where its ids are not whole numbers, but all others are;
/// and where its first two fields are a usual pair of names ("source,target", "from,to", "src,dst", "citing,cited",
/// ...).
///
/// Vertices are those that occur. If all ids are whole numbers of 64 bits as they are usually written (no plus sign, no
/// leading zeros), vertices are numbered in the order of these numbers, else by first appearance, from before to.
///
/// \param path file; gzip and zstd are recognised by the content
/// \throws IoError when the file cannot be read; ParseError with file, line and column for a line of other form, for a
///         weight that is malformed, NaN, infinite or too large, and with Duplicates::error for the first repeated
///         edge; InvalidMatrix for a sum of weights that overflows; OutOfMemory
/// Complexity: O(edges) and the sorting inside rows; numbers are parsed in parallel, names are numbered by one thread.
template <class T>
[[nodiscard]] EdgeList<T> read_edge_list(const std::filesystem::path& path, const ReadOptions& options = {});

/// The same for text in memory (plain, not compressed). \param name stands for the file in error messages
template <class T>
[[nodiscard]] EdgeList<T> parse_edge_list(std::string_view text, const std::string& name,
                                          const ReadOptions& options = {});

}  // namespace tessera
