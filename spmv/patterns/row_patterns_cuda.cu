/// \file
/// Row patterns on a GPU: rows hashed and counted in a table, lists chosen on the host, every row compared exactly with
/// the list that its hash proposes.
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"
#include "spmv/patterns/patterns.hpp"
#include "spmv/patterns/row_screen.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <utility>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 256;
constexpr int warps_per_block = threads / warp_size;

/// Hash table of counted rows: open addressing, a few probes. A row that finds no place is not counted: then there are
/// too many lists anyway.
constexpr unsigned table_slots = 2048;
constexpr unsigned probes = 32;

struct RowSlot {
  unsigned hash;  ///< 0: vacant
  unsigned count;
  unsigned before_end;  ///< 2^31 - 1 - the first row
  index_t length;       ///< of the first row
};

/// Where the list of a hash stands: open addressing.
struct ListSlot {
  unsigned hash;  ///< 0: vacant
  int list;
};

/// The row that a thread looks at.
struct EveryRow {
  __device__ index_t operator()(std::int64_t i) const { return static_cast<index_t>(i); }
};
struct ListedRow {
  const index_t* rows;
  __device__ index_t operator()(std::int64_t i) const { return rows[i]; }
};
struct SampledRow {
  SampledRows sample;
  __device__ index_t operator()(std::int64_t i) const { return sample[i]; }
};

template <class Source, class RowOf>
__global__ void __launch_bounds__(threads)
    count_rows_kernel(std::int64_t count, Source source, RowOf row_of, RowSlot* table) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const index_t row = row_of(i);
  if (source.length(row) > longest_row_list) return;
  const unsigned hash = source.hash(row);
  for (unsigned probe = 0; probe < probes; ++probe) {
    RowSlot& slot = table[(hash + probe) % table_slots];
    const unsigned there = atomicCAS(&slot.hash, 0u, hash);
    if (there != 0 && there != hash) continue;
    atomicAdd(&slot.count, 1u);
    atomicMax(&slot.before_end, 0x7fffffffu - static_cast<unsigned>(row));
    return;
  }
}

/// A block per list; the last writes the list without entries.
template <class Source, class T>
__global__ void __launch_bounds__(threads)
    copy_lists_kernel(Source source, int lists, int width, const index_t* rows, index_t* table, T* values) {
  const int list = static_cast<int>(blockIdx.x);
  const index_t row = list < lists ? rows[list] : 0;
  const offset_t begin = list < lists ? source.row_offsets[row] : 0;
  const offset_t length = list < lists ? source.row_offsets[row + 1] - begin : 0;
  index_t* const to = table + static_cast<std::int64_t>(list) * (width + 1);
  // Two lists of one hash: the longer does not fit. No row equals it.
  if (threadIdx.x == 0) to[0] = length > width ? -1 : static_cast<index_t>(length);
  for (int k = static_cast<int>(threadIdx.x); k < width; k += threads) {
    const offset_t entry = begin + (k < length ? k : length - 1);
    to[1 + k] = length > 0 ? source.columns[entry] - row : 0;
    if (values != nullptr)
      values[static_cast<std::int64_t>(list) * width + k] = length > 0 ? source.values[entry] : T{0};
  }
}

struct ListTable {
  int lists;
  int stride;
  const index_t* table;
  const ListSlot* slots;

  /// The list of a hash; `lists` if there is none.
  [[nodiscard]] __device__ int find(unsigned hash) const {
    for (unsigned probe = 0; probe < 2 * most_row_lists; ++probe) {
      const ListSlot slot = slots[(hash + probe) % table_slots];
      if (slot.hash == hash) return slot.list;
      if (slot.hash == 0) break;
    }
    return lists;
  }
};

/// The most frequent list is tried before anything is hashed.
template <class Source, class T, class RowOf>
__global__ void __launch_bounds__(threads) name_rows_kernel(std::int64_t count, Source source, RowOf row_of,
                                                            ListTable lists, const T* values, std::uint8_t* codes) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const index_t row = row_of(i);
  const int width = lists.stride - 1;
  int list = lists.lists;
  if (source.length(row) <= width) {
    if (lists.lists > 0 && source.equals(row, lists.table, values)) {
      list = 0;
    } else {
      list = lists.find(source.hash(row));
      if (list < lists.lists &&
          !source.equals(row, lists.table + list * lists.stride, values + static_cast<std::int64_t>(list) * width)) {
        list = lists.lists;
      }
    }
  }
  codes[row] = static_cast<std::uint8_t>(list);
}

/// Exceptions per block of rows.
__global__ void __launch_bounds__(threads)
    count_exceptions_kernel(index_t rows, const std::uint8_t* codes, int lists, offset_t* of_block) {
  const std::int64_t row = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const bool is_exception = row < rows && codes[row] == lists;
  __shared__ int of_warps[warps_per_block];
  const BlockSum<int> sum = running_sum_in_block<threads>(is_exception ? 1 : 0, of_warps);
  if (threadIdx.x == 0) of_block[blockIdx.x] = sum.total;
}

__global__ void __launch_bounds__(threads) collect_exceptions_kernel(index_t rows, const std::uint8_t* codes, int lists,
                                                                     const offset_t* before, index_t* exceptions) {
  const std::int64_t row = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const bool is_exception = row < rows && codes[row] == lists;
  __shared__ int of_warps[warps_per_block];
  const BlockSum<int> sum = running_sum_in_block<threads>(is_exception ? 1 : 0, of_warps);
  if (is_exception) exceptions[before[blockIdx.x] + sum.before] = static_cast<index_t>(row);
}

struct Longest {
  double of = 0.0;
  __device__ Longest& operator+=(const Longest& other) {
    of = of > other.of ? of : other.of;
    return *this;
  }
};

/// The lengths of the rows that were found first, beside them.
void note_lengths(const Device& device, Array<RowSlot>& table, const offset_t* offsets) {
  RowSlot* const slots = table.data();
  for_each(device, table_slots, [=] __device__(std::int64_t i) {
    const auto row = static_cast<std::int64_t>(0x7fffffffu - slots[i].before_end);
    if (slots[i].hash != 0) slots[i].length = static_cast<index_t>(offsets[row + 1] - offsets[row]);
  });
}

/// The steps of search_row_lists().
template <class T, bool WithValues>
class CudaSteps {
 public:
  CudaSteps(const CsrView<T>& a, const Device& device)
      : device_(device),
        context_(Context::of(device)),
        rows_(a.rows),
        sample_(sample_of_rows(a.rows)),
        source_{a.row_offsets.data(), a.columns.data(), a.values.data()},
        row_offsets_(a.row_offsets) {
    found_.kind = kind();
  }

  [[nodiscard]] RowListKind kind() const { return WithValues ? RowListKind::columns_and_values : RowListKind::columns; }
  [[nodiscard]] index_t rows() const { return rows_; }
  [[nodiscard]] index_t sampled() const { return sample_.count; }

  [[nodiscard]] std::vector<CountedList> count_sample() const { return count(sample_.count, SampledRow{sample_}); }
  [[nodiscard]] std::vector<CountedList> count_exceptions() const {
    return count(found_.exceptions.size(), ListedRow{found_.exceptions.data()});
  }

  void set_lists(const std::vector<CountedList>& lists);
  void name_rows() {
    found_.codes = Array<std::uint8_t>(rows_, Init::none, device_);
    name(rows_, EveryRow{});
  }
  void name_exceptions() { name(found_.exceptions.size(), ListedRow{found_.exceptions.data()}); }
  [[nodiscard]] std::int64_t exceptions();
  void collect_exceptions();

  [[nodiscard]] RowPatterns<T> take() { return std::move(found_); }

 private:
  template <class RowOf>
  [[nodiscard]] std::vector<CountedList> count(std::int64_t rows, const RowOf& row_of) const;
  template <class RowOf>
  void name(std::int64_t rows, const RowOf& row_of) {
    if (rows == 0) return;
    const DeviceGuard current(device_);
    launch("naming rows", context_, Grid{blocks_for(rows, threads), threads},
           name_rows_kernel<RowSource<T, WithValues>, T, RowOf>, rows, source_, row_of,
           ListTable{found_.lists, found_.stride(), found_.table.data(), list_slots_.data()},
           static_cast<const T*>(found_.values.data()), found_.codes.data());
  }

  Device device_;
  const Context& context_;
  index_t rows_;
  SampledRows sample_;
  RowSource<T, WithValues> source_;
  std::span<const offset_t> row_offsets_;
  RowPatterns<T> found_;
  Array<ListSlot> list_slots_;
  Array<offset_t> exceptions_before_;  ///< each block of rows
  std::int64_t exception_count_ = 0;
};

template <class T, bool WithValues>
template <class RowOf>
std::vector<CountedList> CudaSteps<T, WithValues>::count(std::int64_t rows, const RowOf& row_of) const {
  std::vector<CountedList> counted;
  if (rows == 0) return counted;
  Array<RowSlot> table(table_slots, Init::zero, device_);
  const DeviceGuard current(device_);
  launch("counting rows", context_, Grid{blocks_for(rows, threads), threads},
         count_rows_kernel<RowSource<T, WithValues>, RowOf>, rows, source_, row_of, table.data());
  note_lengths(device_, table, row_offsets_.data());
  const Array<RowSlot> here = table.to(Device{});
  for (std::int64_t slot = 0; slot < table_slots; ++slot) {
    const RowSlot& found = here[slot];
    if (found.hash == 0) continue;
    counted.push_back({found.hash, found.count, static_cast<index_t>(0x7fffffffu - found.before_end), found.length});
  }
  return counted;
}

template <class T, bool WithValues>
void CudaSteps<T, WithValues>::set_lists(const std::vector<CountedList>& lists) {
  const auto count = static_cast<int>(lists.size());
  std::vector<index_t> rows;
  std::vector<ListSlot> by_hash(table_slots, ListSlot{0, 0});
  for (int list = 0; list < count; ++list) {
    const CountedList& own = lists[static_cast<std::size_t>(list)];
    rows.push_back(own.row);
    unsigned at = own.hash % table_slots;
    while (by_hash[at].hash != 0) at = (at + 1) % table_slots;
    by_hash[at] = {own.hash, list};
  }
  found_.lists = count;
  found_.width = width_of(lists);
  found_.table = Array<index_t>(std::int64_t{count + 1} * found_.stride(), Init::none, device_);
  if (WithValues) found_.values = Array<T>(std::int64_t{count + 1} * found_.width, Init::none, device_);
  list_slots_ = Array<ListSlot>::copy_of(by_hash, device_);
  const auto first_rows = Array<index_t>::copy_of(rows, device_);
  const DeviceGuard current(device_);
  launch("lists of rows", context_, Grid{static_cast<unsigned>(count + 1), threads},
         copy_lists_kernel<RowSource<T, WithValues>, T>, source_, count, found_.width,
         static_cast<const index_t*>(first_rows.data()), found_.table.data(), found_.values.data());
}

template <class T, bool WithValues>
std::int64_t CudaSteps<T, WithValues>::exceptions() {
  if (rows_ == 0) return 0;
  const unsigned blocks = blocks_for(rows_, threads);
  exceptions_before_ = Array<offset_t>(blocks, Init::none, device_);
  const DeviceGuard current(device_);
  launch("counting rows on no list", context_, Grid{blocks, threads}, count_exceptions_kernel, rows_,
         static_cast<const std::uint8_t*>(found_.codes.data()), found_.lists, exceptions_before_.data());
  exception_count_ = exclusive_sum(device_, exceptions_before_.span());
  return exception_count_;
}

template <class T, bool WithValues>
void CudaSteps<T, WithValues>::collect_exceptions() {
  found_.exceptions = Array<index_t>(exception_count_, Init::none, device_);
  found_.longest_exception = 0;
  if (exception_count_ == 0) return;
  const DeviceGuard current(device_);
  launch("rows on no list", context_, Grid{blocks_for(rows_, threads), threads}, collect_exceptions_kernel, rows_,
         static_cast<const std::uint8_t*>(found_.codes.data()), found_.lists,
         static_cast<const offset_t*>(exceptions_before_.data()), found_.exceptions.data());
  const index_t* const exceptions = found_.exceptions.data();
  const offset_t* const offsets = row_offsets_.data();
  const auto longest = fused_values<Longest>(device_, exception_count_, [=] __device__(std::int64_t i, Longest & most) {
    const index_t row = exceptions[i];
    most += Longest{static_cast<double>(offsets[row + 1] - offsets[row])};
  });
  found_.longest_exception = static_cast<offset_t>(longest.of);
}

/// \returns what was promised where the rows do not repeat, with their values if WithValues
template <class T, bool WithValues>
std::optional<RowListEstimate> search(const CsrView<T>& a, const Device& device, RowPatterns<T>& found) {
  CudaSteps<T, WithValues> steps(a, device);
  std::optional<RowListEstimate> refusal = search_row_lists(steps);
  if (!refusal) found = steps.take();
  return refusal;
}

template <class T, bool WithValues>
RowListEstimate estimate(const CsrView<T>& a, const Device& device) {
  CudaSteps<T, WithValues> steps(a, device);
  const auto lists = choose_row_lists({}, steps.count_sample(), places_of(steps.kind()), steps.sampled());
  const RowListEstimate found = estimate_of(steps.kind(), lists, steps.sampled(), 0);
  if (!found.promises() || steps.sampled() == 0) return found;
  const SampledRows sample = sample_of_rows(a.rows);
  const offset_t* const offsets = a.row_offsets.data();
  const auto nonzeros = fused_sum<1>(device, sample.count, [=] __device__(std::int64_t i, double* sums) {
    const index_t row = sample[i];
    sums[0] += static_cast<double>(offsets[row + 1] - offsets[row]);
  });
  return estimate_of(steps.kind(), lists, sample.count, static_cast<offset_t>(nonzeros[0]));
}

}  // namespace

template <class T>
RowListEstimate estimate_row_lists(const CsrView<T>& on_device, const Device& device) {
  if (!rows_may_repeat(on_device, device)) return {RowListKind::columns, 0, 0, screened_rows, 0.0, 0.0};
  if (!on_device.is_pattern()) {
    const RowListEstimate templates = estimate<T, true>(on_device, device);
    if (templates.promises()) return templates;
  }
  return estimate<T, false>(on_device, device);
}

namespace {

/// Templates, else patterns. \returns what was promised where neither qualify
template <class T>
std::optional<RowListEstimate> search_all(const CsrView<T>& a, const Device& device, RowPatterns<T>& found) {
  if (!a.is_pattern() && !search<T, true>(a, device, found)) return std::nullopt;
  return search<T, false>(a, device, found);
}

}  // namespace

template <class T>
RowPatterns<T> find_row_patterns(const CsrView<T>& on_device, const Device& device) {
  RowPatterns<T> found;
  if (const auto refusal = search_all(on_device, device, found)) refuse_sample(*refusal);
  return found;
}

template <class T>
std::optional<RowPatterns<T>> look_for_row_patterns(const CsrView<T>& on_device, const Device& device) {
  RowPatterns<T> found;
  if (!rows_may_repeat(on_device, device) || search_all(on_device, device, found)) return std::nullopt;
  return found;
}

template RowListEstimate estimate_row_lists(const CsrView<float>&, const Device&);
template RowListEstimate estimate_row_lists(const CsrView<double>&, const Device&);
template RowPatterns<float> find_row_patterns(const CsrView<float>&, const Device&);
template RowPatterns<double> find_row_patterns(const CsrView<double>&, const Device&);
template std::optional<RowPatterns<float>> look_for_row_patterns(const CsrView<float>&, const Device&);
template std::optional<RowPatterns<double>> look_for_row_patterns(const CsrView<double>&, const Device&);

}  // namespace tessera::cuda
