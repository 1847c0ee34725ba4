// Prediction of products on the host: sampled rows of one product, and sketches that go from factor to factor.
#include "spgemm/common/prediction.hpp"

#include "core/parallel.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <vector>

namespace tessera::host {

namespace {

/// Rows that a thread takes at a time.
constexpr std::int64_t rows_per_task = 1024;

template <class T>
std::uint64_t products_of_row(const CsrView<T>& a, const CsrView<T>& b, std::int64_t row) noexcept {
  std::uint64_t products = 0;
  const auto i = static_cast<std::size_t>(row);
  for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
    const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
    products += static_cast<std::uint64_t>(b.row_offsets[j + 1] - b.row_offsets[j]);
  }
  return products;
}

/// body(Range of rows, Part&) over all rows; the parts of the tasks are added by integers, so in any order.
template <class Part, class Body, class Add>
void over_rows(const Device& device, std::int64_t rows, const Body& body, const Add& add) {
  std::mutex mutex;
  const std::int64_t tasks = (rows + rows_per_task - 1) / rows_per_task;
  parallel_tasks(device, tasks, [&](std::int64_t task) {
    Part part{};
    body(Range{task * rows_per_task, std::min(rows, (task + 1) * rows_per_task)}, part);
    const std::scoped_lock alone(mutex);
    add(part);
  });
}

struct Totals {
  std::array<StratumTotals, product_strata> of{};
  std::uint64_t exact = 0;
};

/// Strata of all rows, and their totals.
template <class T>
std::vector<std::uint8_t> stratify(const CsrView<T>& a, const CsrView<T>& b, const Device& device,
                                   ProductSample& sample) {
  std::vector<std::uint8_t> strata(static_cast<std::size_t>(a.rows));
  const auto body = [&](Range rows, Totals& part) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const std::uint64_t products = products_of_row(a, b, i);
      const auto row = static_cast<std::size_t>(i);
      const std::uint8_t s = stratum_of(products, a.row_offsets[row + 1] - a.row_offsets[row]);
      strata[row] = s;
      if (s == exact_stratum) part.exact += products;
      if (s >= product_strata) continue;
      ++part.of[s].rows;
      part.of[s].products += products;
    }
  };
  over_rows<Totals>(device, a.rows, body, [&](const Totals& part) {
    sample.exact_entries += part.exact;
    for (std::size_t s = 0; s < product_strata; ++s) {
      sample.totals[s].rows += part.of[s].rows;
      sample.totals[s].products += part.of[s].products;
    }
  });
  return strata;
}

/// The sketch of a row with the sums over its groups of registers, which follow every mark: a row costs as much as its
/// products do.
struct RowSketch {
  std::array<std::uint8_t, sample_registers> registers{};
  std::array<SketchSums, sample_groups> groups{};

  RowSketch() {
    for (SketchSums& group : groups) group = {std::uint64_t{group_registers} << 32, group_registers};
  }
  void insert(index_t column) noexcept {
    const SketchMark mark = sketch_mark<sample_registers>(sketch_hash(static_cast<std::uint32_t>(column)));
    std::uint8_t& rank = registers[static_cast<std::size_t>(mark.slot)];
    if (rank >= mark.rank) return;
    SketchSums& group = groups[static_cast<std::size_t>(mark.slot / group_registers)];
    group.powers -= std::uint64_t{1} << (32 - rank);
    group.powers += std::uint64_t{1} << (32 - mark.rank);
    if (rank == 0) --group.empty;
    rank = mark.rank;
  }
};

/// Adds a sampled row to the sums of its stratum.
template <class T>
void sketch_row(const CsrView<T>& a, const CsrView<T>& b, std::int64_t row, int s, StratumSums& sums) {
  RowSketch sketch;
  std::uint64_t products = 0;
  const auto i = static_cast<std::size_t>(row);
  for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
    const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
    const offset_t end = b.row_offsets[j + 1];
    products += static_cast<std::uint64_t>(end - b.row_offsets[j]);
    for (offset_t l = b.row_offsets[j]; l < end; ++l) sketch.insert(b.columns[static_cast<std::size_t>(l)]);
  }
  SketchSums all;
  for (std::size_t g = 0; g < sample_groups; ++g) {
    all.powers += sketch.groups[g].powers;
    all.empty += sketch.groups[g].empty;
    sums.groups[g] += scaled_to_stratum(corrected_estimate<group_registers>(sketch.groups[g]), s);
  }
  const std::uint64_t p = scaled_to_stratum(static_cast<double>(products), s);
  const std::uint64_t e = std::min(p, scaled_to_stratum(corrected_estimate<sample_registers>(all), s));
  ++sums.rows;
  sums.products += p;
  sums.entries += e;
  sums.products_squared += p * p;
  sums.products_entries += p * e;
  sums.entries_squared += e * e;
}

std::array<std::uint64_t, product_strata> sample_rates(const std::array<StratumTotals, product_strata>& totals) {
  double products = 0.0;
  double roots = 0.0;
  for (const StratumTotals& of : totals) {
    products += static_cast<double>(of.products);
    roots += stratum_root(of);
  }
  double sampled = 0.0;
  for (const StratumTotals& of : totals) sampled += stratum_sample_rows(of, products, roots);
  std::array<std::uint64_t, product_strata> rates{};
  for (std::size_t s = 0; s < totals.size(); ++s) {
    rates[s] = stratum_rate(totals[s], stratum_sample_rows(totals[s], products, roots), sampled);
  }
  return rates;
}

}  // namespace

template <class T>
ProductSample sample_product(const CsrView<T>& a, const CsrView<T>& b, const Device& device) {
  ProductSample sample;
  const std::vector<std::uint8_t> strata = stratify(a, b, device, sample);
  const std::array<std::uint64_t, product_strata> rates = sample_rates(sample.totals);
  using Sums = std::array<StratumSums, product_strata>;
  const auto body = [&](Range rows, Sums& part) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const std::uint8_t s = strata[static_cast<std::size_t>(i)];
      if (s < product_strata && is_sampled(static_cast<index_t>(i), rates[s])) sketch_row(a, b, i, s, part[s]);
    }
  };
  over_rows<Sums>(device, a.rows, body, [&](const Sums& part) {
    for (std::size_t s = 0; s < product_strata; ++s) sample.sums[s] += part[s];
  });
  return sample;
}

namespace {

std::uint8_t* sketch_of(Array<std::uint32_t>& words, std::int64_t row, int registers) noexcept {
  return reinterpret_cast<std::uint8_t*>(words.data()) + row * registers;
}

template <int M, class T>
RowSketches sketch_sized(const CsrView<T>& a, const Device& device) {
  RowSketches result{Array<std::uint32_t>(std::int64_t{a.rows} * (M / 4)), Array<float>(a.rows, Init::none), 0.0, {}};
  parallel_for(device, a.rows, [&](Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      std::uint8_t* sketch = sketch_of(result.words, i, M);
      for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
        sketch_insert<M>(sketch, a.columns[static_cast<std::size_t>(k)]);
      }
      result.sizes[i] = static_cast<float>(a.row_offsets[row + 1] - a.row_offsets[row]);
    }
  });
  result.entries = static_cast<double>(a.nnz());
  result.groups.fill(result.entries / chain_groups);
  return result;
}

template <int M, class T>
RowSketches merge_sized(const CsrView<T>& a, const RowSketches& b, index_t most, const Device& device) {
  RowSketches result{Array<std::uint32_t>(std::int64_t{a.rows} * (M / 4)), Array<float>(a.rows, Init::none), 0.0, {}};
  const auto* const from = reinterpret_cast<const std::uint8_t*>(b.words.data());
  const auto sums = parallel_sum<SketchedEntries>(device, a.rows, [&](Range rows) {
    SketchedEntries part;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      std::uint8_t* sketch = sketch_of(result.words, i, M);
      for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
        sketch_merge<M>(sketch, from + std::int64_t{a.columns[static_cast<std::size_t>(k)]} * M);
      }
      result.sizes[i] = estimate_row<M>(sketch, most, part);
    }
    return part;
  });
  result.entries = sums.entries;
  std::copy(std::begin(sums.groups), std::end(sums.groups), result.groups.begin());
  return result;
}

}  // namespace

template <class T>
RowSketches sketch_rows(const CsrView<T>& a, int registers, const Device& device) {
  if (registers == 32) return sketch_sized<32>(a, device);
  if (registers == 64) return sketch_sized<64>(a, device);
  return sketch_sized<128>(a, device);
}

template <class T>
RowSketches merge_sketches(const CsrView<T>& a, const RowSketches& b, index_t most, int registers,
                           const Device& device) {
  if (registers == 32) return merge_sized<32>(a, b, most, device);
  if (registers == 64) return merge_sized<64>(a, b, most, device);
  return merge_sized<128>(a, b, most, device);
}

double products_of_sizes(const Array<float>& u, const Array<float>& v, const Device& device) {
  return parallel_sum<double>(device, u.size(), [&](Range range) {
    double sum = 0.0;
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      sum += static_cast<double>(u[k]) * static_cast<double>(v[k]);
    }
    return sum;
  });
}

template ProductSample sample_product(const CsrView<float>&, const CsrView<float>&, const Device&);
template ProductSample sample_product(const CsrView<double>&, const CsrView<double>&, const Device&);
template RowSketches sketch_rows(const CsrView<float>&, int, const Device&);
template RowSketches sketch_rows(const CsrView<double>&, int, const Device&);
template RowSketches merge_sketches(const CsrView<float>&, const RowSketches&, index_t, int, const Device&);
template RowSketches merge_sketches(const CsrView<double>&, const RowSketches&, index_t, int, const Device&);

}  // namespace tessera::host
