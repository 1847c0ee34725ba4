/// \file
/// Species that react in a ring, in many cells whose temperatures change: one small matrix per cell, all of one
/// structure, with new values in every step, and one product for all cells.
///
///     batched_species [CELLS [host|cuda|cuda:N]]

#include <tessera/array.hpp>
#include <tessera/error.hpp>
#include <tessera/spmv_batch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using tessera::Array;

constexpr tessera::index_t species = 8;
constexpr int steps = 200;
constexpr double step = 0.01;

/// I + step A: species s loses to the next one and gains from the one before.
tessera::Csr<double> ring() {
  std::vector<tessera::offset_t> offsets{0};
  std::vector<tessera::index_t> columns;
  for (tessera::index_t s = 0; s < species; ++s) {
    const tessera::index_t before = (s + species - 1) % species;
    columns.insert(columns.end(), {std::min(s, before), std::max(s, before)});
    offsets.push_back(static_cast<tessera::offset_t>(columns.size()));
  }
  return tessera::Csr<double>::pattern(species, species, Array<tessera::offset_t>::copy_of(offsets),
                                       Array<tessera::index_t>::copy_of(columns));
}

/// Share of species s that reacts within a step, in a cell at a time.
double reacting(tessera::index_t s, std::int64_t cell, int time) {
  const double temperature = 1.0 + 0.5 * std::sin(0.1 * static_cast<double>(cell) + step * time);
  return step * (1.0 + 0.25 * s) * temperature;
}

/// The values of all cells, one behind the other, in the order of ring().
void fill_values(std::int64_t cells, int time, std::vector<double>& values) {
  values.clear();
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    for (tessera::index_t s = 0; s < species; ++s) {
      const double stays = 1.0 - reacting(s, cell, time);
      const double gains = reacting((s + species - 1) % species, cell, time);
      if (s == 0) {
        values.insert(values.end(), {stays, gains});
      } else {
        values.insert(values.end(), {gains, stays});
      }
    }
  }
}

int run(std::int64_t cells, const tessera::Device& device) {
  const tessera::Csr<double> structure = ring();
  // The structure is given once per cell; values follow.
  const auto any = structure.with_values(Array<double>(structure.nnz()));
  const std::vector<tessera::CsrView<double>> views(static_cast<std::size_t>(cells), any.view());
  tessera::SpmvBatch<double> batch(views, tessera::Device{}, {.device = device});

  const std::vector<double> ones(static_cast<std::size_t>(cells * species), 1.0);
  Array<double> now = Array<double>::copy_of(ones, device);
  Array<double> next(now.size(), tessera::Init::none, device);
  std::vector<double> values;
  for (int time = 0; time < steps; ++time) {
    fill_values(cells, time, values);
    batch.update_values(values);
    batch.apply(std::as_const(now).span(), next.span());
    std::swap(now, next);
  }

  // Species turn into each other, so the total of a cell stays.
  const Array<double> found = now.to(tessera::Device{});
  double largest_change = 0.0;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const auto own = batch.y_of(cell, found.span());
    largest_change = std::max(largest_change, std::abs(std::accumulate(own.begin(), own.end(), -1.0 * species)));
  }
  std::cout << cells << " cells of " << species << " species: " << steps << " steps by "
            << to_string(batch.plan().info().algorithm) << ", species 0 of cell 0 is " << found[0] << '\n'
            << "totals of cells changed by less than 1e-12: " << (largest_change < 1e-12 ? "yes" : "no") << '\n';
  return largest_change < 1e-12 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long cells = argc > 1 ? std::atol(argv[1]) : 1000;
  if (cells < 1 || cells > 1000000 || argc > 3) {
    std::cerr << "usage: batched_species [CELLS [host|cuda|cuda:N]], 1 to 10^6 CELLS\n";
    return 2;
  }
  try {
    return run(cells, tessera::Device::parse(argc > 2 ? argv[2] : "host"));
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
