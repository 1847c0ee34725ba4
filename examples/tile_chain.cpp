/// \file
/// A chain of products in bitmap tiles: A B C of block matrices is cut into tiles once and becomes CSR once, at the
/// end.
///
///     tile_chain [NODES]

#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/statistics.hpp>
#include <tessera/tile_product.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

namespace {

using tessera::Csr;
using tessera::TileMatrix;

void print(const char* name, const TileMatrix<double>& matrix) {
  std::cout << name << matrix.nnz() << " entries in " << matrix.tiles() << " tiles, which are "
            << static_cast<int>(100.0 * matrix.fill()) << " % full\n";
}

template <class Span>
bool is_same(const Span& one, const Span& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end());
}

int multiply(const std::string& nodes) {
  // Three unknowns per node of a cube: entries come in blocks of 3 x 3.
  const auto a = tessera::generate<double>(tessera::parse_generator("elasticity3d:" + nodes));
  const Csr<double> b = tessera::transpose(a.view());

  const TileMatrix<double> in_tiles = tessera::to_tiles(a);
  const TileMatrix<double> transposed = tessera::to_tiles(b);
  const auto ab = tessera::spgemm(in_tiles, transposed);
  const auto abc = tessera::spgemm(ab.matrix, in_tiles);
  print("A:       ", in_tiles);
  print("A B:     ", ab.matrix);
  print("A B C:   ", abc.matrix);
  std::cout << "because: " << abc.report.reason << '\n';

  const Csr<double> found = tessera::to_csr(abc.matrix);
  const Csr<double> expected = tessera::spgemm(tessera::spgemm(a, b).matrix, a).matrix;
  const bool same_positions =
      is_same(found.row_offsets(), expected.row_offsets()) && is_same(found.columns(), expected.columns());
  std::cout << "positions as in CSR: " << (same_positions ? "yes" : "no")
            << ", values: " << (is_same(found.values(), expected.values()) ? "yes" : "no") << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long nodes = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 5;
  if (argc > 2 || nodes < 2) {
    std::cerr << "usage: tile_chain [NODES]\n";
    return 2;
  }
  try {
    return multiply(std::to_string(nodes));
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
