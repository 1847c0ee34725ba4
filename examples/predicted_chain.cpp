/// \file
/// A chain of products in the order of least predicted work: sizes are predicted by sketches before anything is
/// multiplied; then the chain is formed and held against them.
///
///     predicted_chain [VERTICES]

#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/spgemm_prediction.hpp>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>

namespace {

using tessera::Csr;

int multiply(const std::string& vertices) {
  // Links of links of a graph, summed over 64 groups of vertices.
  const auto links = tessera::generate<double>(tessera::parse_generator("rmat:" + vertices));
  const tessera::index_t n = links.rows();
  tessera::Array<tessera::offset_t> offsets(std::int64_t{n} + 1);
  tessera::Array<tessera::index_t> groups(n);
  for (tessera::index_t i = 0; i < n; ++i) {
    offsets[i + 1] = i + 1;
    groups[i] = i % 64;
  }
  const auto group_of = Csr<double>::pattern(n, 64, std::move(offsets), std::move(groups));

  const tessera::ProductPrediction square = tessera::predict(links, links);
  std::cout << "A A would have " << square.nnz.value << " entries, +- " << 100.0 * square.nnz.error << " %, in "
            << square.bytes << " bytes\n";

  const tessera::ChainResult<double> chain = tessera::spgemm_chain(links, links, group_of);
  std::cout << chain.order << ": " << chain.reason << '\n';
  bool is_near = true;
  for (const tessera::SpgemmReport& product : chain.products) {
    const double off = *product.predicted_nnz / static_cast<double>(product.nnz) - 1.0;
    std::cout << product.nnz << " entries, predicted to within " << 100.0 * std::fabs(off) << " %\n";
    is_near = is_near && std::fabs(off) < 0.3;
  }
  return is_near && chain.order == "A (B C)" ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string vertices = argc > 1 ? argv[1] : "4096";
  if (argc > 2 || std::strtol(vertices.c_str(), nullptr, 10) <= 0) {
    std::cerr << "usage: predicted_chain [VERTICES]\n";
    return EXIT_FAILURE;
  }
  try {
    return multiply(vertices);
  } catch (const tessera::Error& error) {
    std::cerr << "predicted_chain: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
