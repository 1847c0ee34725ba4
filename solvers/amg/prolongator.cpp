/// Prolongators of smoothed aggregation.
#include "solvers/amg/prolongator.hpp"

#include "core/borrowed_csr.hpp"
#include "solvers/amg/offsets.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/statistics.hpp"

#include <algorithm>
#include <utility>

namespace tessera::detail {

namespace {

/// Aggregates x nodes, as a pattern.
template <class T>
Csr<T> members_of_aggregates(const Device& device, const Aggregates& aggregates) {
  const std::int64_t nodes = aggregates.of_row.size();
  Array<offset_t> offsets(nodes + 1, Init::none, device);
  fused::transform_reduce(
      device, nodes,
      TentativeLengths{.aggregates = aggregates.of_row.data(), .block = 1, .vectors = 1, .lengths = offsets.data()});
  const offset_t nnz = sum_to_offsets(device, offsets.span());
  Array<index_t> columns(nnz, Init::none, device);
  Array<T> ones(nnz, Init::none, device);
  fused::transform_reduce(device, nodes,
                          TentativeEntries<T>{.aggregates = aggregates.of_row.data(),
                                              .offsets = offsets.data(),
                                              .local = nullptr,
                                              .block = 1,
                                              .vectors = 1,
                                              .columns = columns.data(),
                                              .values = ones.data()});
  const Csr<T> nodes_by_aggregates =
      Csr<T>::pattern(nodes, aggregates.count, std::move(offsets), std::move(columns), Check::trusted);
  return transpose(nodes_by_aggregates.view(), device);
}

}  // namespace

template <class T>
Tentative<T> tentative_prolongator(const Device& device, std::int64_t rows, const Aggregates& aggregates,
                                   const NearNullspace<T>& nullspace) {
  Tentative<T> result;
  const int vectors = nullspace.vectors;
  result.next.block = result.next.vectors = vectors;
  if (!nullspace.values.empty()) {
    const std::int64_t coarse = std::int64_t{aggregates.count} * vectors;
    result.local = nullspace.values.to(device);
    result.next.values = Array<T>(coarse * vectors, Init::none, device);
    const Csr<T> members = members_of_aggregates<T>(device, aggregates);
    fused::transform_reduce(device, aggregates.count,
                            OrthonormaliseAggregate<T>{.members = members.row_offsets().data(),
                                                       .nodes = members.columns().data(),
                                                       .block = nullspace.block,
                                                       .vectors = vectors,
                                                       .local = result.local.data(),
                                                       .coarse = result.next.values.data()});
  }
  Array<offset_t> offsets(rows + 1, Init::none, device);
  fused::transform_reduce(device, rows,
                          TentativeLengths{.aggregates = aggregates.of_row.data(),
                                           .block = nullspace.block,
                                           .vectors = vectors,
                                           .lengths = offsets.data()});
  const offset_t nnz = sum_to_offsets(device, offsets.span());
  Array<index_t> columns(nnz, Init::none, device);
  Array<T> values(nnz, Init::none, device);
  fused::transform_reduce(device, rows,
                          TentativeEntries<T>{.aggregates = aggregates.of_row.data(),
                                              .offsets = offsets.data(),
                                              .local = result.local.empty() ? nullptr : result.local.data(),
                                              .block = nullspace.block,
                                              .vectors = vectors,
                                              .columns = columns.data(),
                                              .values = values.data()});
  result.matrix = Csr<T>(rows, std::int64_t{aggregates.count} * vectors, std::move(offsets), std::move(columns),
                         std::move(values), Check::trusted);
  return result;
}

template <class T>
Csr<T> smooth_prolongator(const Device& device, const Csr<T>& products, const Aggregates& aggregates,
                          const Tentative<T>& tentative, const NearNullspace<T>& nullspace, const T* diagonal,
                          double omega, index_t first) {
  Array<T> values(products.nnz(), Init::none, device);
  transform_rows(device, all_rows(products.view()),
                 SmoothProlongator<T>{.row_offsets = products.row_offsets().data(),
                                      .columns = products.columns().data(),
                                      .products = products.values().data(),
                                      .values = values.data(),
                                      .aggregates = aggregates.of_row.data(),
                                      .local = tentative.local.empty() ? nullptr : tentative.local.data(),
                                      .diagonal = diagonal,
                                      .omega = static_cast<T>(omega),
                                      .block = nullspace.block,
                                      .vectors = nullspace.vectors,
                                      .first = first});
  return products.with_values(std::move(values));
}

namespace {

template <class T>
Csr<T> node_pattern(const Device& device, std::int64_t rows, std::int64_t cols, int entries, int repeats) {
  Array<offset_t> offsets(rows + 1, Init::none, device);
  Array<index_t> columns(rows * entries, Init::none, device);
  fused::transform_reduce(
      device, rows + 1,
      NodePattern{
          .rows = rows, .entries = entries, .repeats = repeats, .offsets = offsets.data(), .columns = columns.data()});
  return Csr<T>::pattern(rows, cols, std::move(offsets), std::move(columns), Check::trusted);
}

}  // namespace

template <class T>
Csr<T> node_graph(const Device& device, const CsrView<T>& a, int block) {
  const std::int64_t nodes = a.rows / block;
  Array<T> squares(a.nnz(), Init::none, device);
  fused::transform_reduce(device, a.nnz(), SquareValues<T>{.a = pointers_of(a), .squares = squares.data()});
  CsrView<T> squared = a;
  squared.storage = ValueStorage::weighted;
  squared.values = squares.span();
  SpgemmOptions options;
  options.device = device;
  options.determinism = Determinism::gpu_to_gpu;
  options.asynchronous = true;
  options.short_rows = true;
  const Csr<T> rows_of_nodes =
      spgemm(node_pattern<T>(device, nodes, a.rows, block, 1), borrow_csr(squared, device), options).matrix;
  const Csr<T> sums = spgemm(rows_of_nodes, node_pattern<T>(device, a.rows, nodes, 1, block), options).matrix;
  Array<T> norms = sums.values().to(device);
  fused::transform_reduce(device, norms.size(), RootValues<T>{.values = norms.data()});
  return sums.with_values(std::move(norms));
}

template <class T>
Array<T> rigid_body_modes(const Device& device, std::span<const double> coordinates, int dimensions) {
  const auto d = static_cast<std::size_t>(dimensions);
  const std::size_t nodes = coordinates.size() / d;
  RigidBodyModes<T> modes{
      .coordinates = nullptr, .centre = {}, .unit = 1.0, .dimensions = dimensions, .modes = nullptr};
  double low[3];
  double high[3];
  for (std::size_t c = 0; c < 3; ++c) low[c] = high[c] = c < d && nodes > 0 ? coordinates[c] : 0.0;
  for (std::size_t node = 0; node < nodes; ++node) {
    for (std::size_t c = 0; c < d; ++c) {
      low[c] = std::min(low[c], coordinates[node * d + c]);
      high[c] = std::max(high[c], coordinates[node * d + c]);
    }
  }
  double largest = 0.0;
  for (std::size_t c = 0; c < d; ++c) {
    modes.centre[c] = 0.5 * (low[c] + high[c]);
    largest = std::max(largest, 0.5 * (high[c] - low[c]));
  }
  if (largest > 0.0) modes.unit = 1.0 / largest;
  const auto count = static_cast<std::int64_t>(nodes * d) * (dimensions == 2 ? 3 : 6);
  const Array<double> on_device = Array<double>::copy_of(coordinates, device);
  Array<T> result(count, Init::none, device);
  modes.coordinates = on_device.data();
  modes.modes = result.data();
  fused::transform_reduce(device, static_cast<std::int64_t>(nodes), modes);
  return result;
}

template Array<float> rigid_body_modes(const Device&, std::span<const double>, int);
template Array<double> rigid_body_modes(const Device&, std::span<const double>, int);
template Tentative<float> tentative_prolongator(const Device&, std::int64_t, const Aggregates&,
                                                const NearNullspace<float>&);
template Tentative<double> tentative_prolongator(const Device&, std::int64_t, const Aggregates&,
                                                 const NearNullspace<double>&);
template Csr<float> smooth_prolongator(const Device&, const Csr<float>&, const Aggregates&, const Tentative<float>&,
                                       const NearNullspace<float>&, const float*, double, index_t);
template Csr<double> smooth_prolongator(const Device&, const Csr<double>&, const Aggregates&, const Tentative<double>&,
                                        const NearNullspace<double>&, const double*, double, index_t);
template Csr<float> node_graph(const Device&, const CsrView<float>&, int);
template Csr<double> node_graph(const Device&, const CsrView<double>&, int);

}  // namespace tessera::detail
