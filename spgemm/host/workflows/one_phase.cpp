#include "spgemm/host/workflows/one_phase.hpp"

#include "core/stopwatch.hpp"

#include <cmath>
#include <memory>
#include <utility>

namespace tessera::host {

namespace {

/// Entries that a thread takes from the store at a time.
offset_t chunk_entries(offset_t capacity, int workers) noexcept {
  return std::clamp<offset_t>(capacity / (std::int64_t{64} * workers), 64, 1 << 16);
}

/// Rows longer than this part of a chunk are allocated by themselves, so that the end of a chunk wastes little.
constexpr offset_t chunk_part = 16;

offset_t store_entries(offset_t capacity, int workers) noexcept {
  return capacity + capacity / (chunk_part - 1) + chunk_entries(capacity, workers) * (workers + 1);
}

template <class V>
std::uint64_t store_bytes(std::int64_t rows, offset_t capacity, int workers) noexcept {
  return static_cast<std::uint64_t>(store_entries(capacity, workers)) *
         (sizeof(index_t) + value_bytes<V>)+static_cast<std::uint64_t>(rows) * sizeof(offset_t);
}

/// Rows of C in the order in which they were finished.
template <class V>
struct RowStore {
  RowStore(std::int64_t rows, offset_t capacity, int workers)
      : columns(store_entries(capacity, workers), Init::none),
        values(has_values<V> ? store_entries(capacity, workers) : 0, Init::none),
        starts(rows, Init::none),
        chunk(chunk_entries(capacity, workers)) {}

  /// Allocates `count` entries. \returns the first, or -1 when the store is full
  [[nodiscard]] offset_t take(offset_t count) noexcept {
    const offset_t begin = used.fetch_add(count);
    return begin + count <= columns.size() ? begin : -1;
  }

  Array<index_t> columns;
  Array<V> values;
  Array<offset_t> starts;  ///< where every row lies; -1: nowhere
  offset_t chunk;
  std::atomic<offset_t> used{0};
};

/// The part of the store that one thread fills.
template <class V>
class StoreWriter {
 public:
  explicit StoreWriter(RowStore<V>& store) : store_(&store) {}

  /// Allocates a row of `count` entries. \returns the first, or -1 when the store is full
  [[nodiscard]] offset_t place(offset_t count) noexcept {
    if (count > end_ - next_) {
      if (count > store_->chunk / chunk_part) return store_->take(count);
      next_ = store_->take(store_->chunk);
      if (next_ < 0) {
        next_ = end_ = 0;
        return -1;
      }
      end_ = next_ + store_->chunk;
    }
    return std::exchange(next_, next_ + count);
  }

 private:
  RowStore<V>* store_;
  offset_t next_ = 0;
  offset_t end_ = 0;
};

offset_t row_limit(const SizeEstimate& plan, const RowTask& row, std::int64_t i) noexcept {
  if (plan.estimates.empty()) return row.limit;
  const double capacity = std::ceil(static_cast<double>(plan.estimates[i]) * plan.margin);
  return capacity < static_cast<double>(row.limit) ? static_cast<offset_t>(capacity) : row.limit;
}

/// Sums every row into the store; counts[i + 1] is its length, -1 where the limit was too low.
template <class V, class T>
void fill_store(const HostJob<T>& job, const SizeEstimate& plan, std::vector<RowWorkspace<V>>& workspaces,
                RowStore<V>& store, Array<offset_t>& counts) {
  const auto factors = factors_of<V>(job.a, job.b);
  std::vector<StoreWriter<V>> writers(static_cast<std::size_t>(job.workers), StoreWriter<V>(store));
  for_product_blocks(job, [&](std::size_t worker, Range rows) {
    RowWorkspace<V>& workspace = workspaces[worker];
    StoreWriter<V> writer = writers[worker];
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      RowTask row = job.task(i);
      counts[i + 1] = 0;
      store.starts[i] = 0;
      if (row.products == 0) continue;
      const SpgemmAccumulator accumulator = choose_accumulator(row, job.policy);
      row.limit = row_limit(plan, row, i);
      const offset_t count = workspace.accumulate(factors, row, accumulator);
      counts[i + 1] = count;
      store.starts[i] = count == row_overflow ? -1 : writer.place(count);
      if (store.starts[i] >= 0) {
        const offset_t start = store.starts[i];
        workspace.emit(store.columns.data() + start, has_values<V> ? store.values.data() + start : nullptr);
      } else if (count != row_overflow) {
        workspace.discard();
      }
    }
    writers[worker] = writer;
  });
}

/// body(worker, row) for every row of the list, on all threads.
template <class T, class Body>
void for_listed_rows(const HostJob<T>& job, const std::vector<index_t>& list, Body&& body) {
  std::atomic<std::size_t> next{0};
  parallel_tasks(job.device, job.workers, [&](std::int64_t worker) {
    for (std::size_t k = next.fetch_add(1); k < list.size(); k = next.fetch_add(1)) {
      body(static_cast<std::size_t>(worker), list[k]);
    }
  });
}

/// Copies the rows of the store into C, contiguous ones at once.
template <class V, class T>
void copy_rows(const HostJob<T>& job, const RowStore<V>& store, const Array<offset_t>& offsets, index_t* columns,
               V* values) {
  for_product_blocks(job, [&](std::size_t /*worker*/, Range rows) {
    std::int64_t i = rows.begin;
    while (i < rows.end) {
      const offset_t start = store.starts[i];
      std::int64_t end = i + 1;
      const auto follows = [&](std::int64_t row) {
        return offsets[row] == offsets[row + 1] || store.starts[row] == start + offsets[row] - offsets[i];
      };
      while (start >= 0 && end < rows.end && follows(end)) ++end;
      const offset_t count = offsets[end] - offsets[i];
      if (start >= 0) {
        std::copy_n(store.columns.data() + start, count, columns + offsets[i]);
        if constexpr (has_values<V>) std::copy_n(store.values.data() + start, count, values + offsets[i]);
      }
      i = end;
    }
  });
}

}  // namespace

template <class V, class T>
std::uint64_t one_phase_bytes(const HostJob<T>& job, const SizeEstimate& plan) noexcept {
  return store_bytes<V>(job.rows(), plan.capacity, job.workers) +
         RowWorkspace<V>::bytes(job.sizes) * static_cast<std::uint64_t>(job.workers) +
         detail::csr_bytes(job.rows(), plan.expected, value_bytes<V>);
}

namespace {

/// The phase as an object: its steps share the store.
template <class V, class T>
class OnePhase {
 public:
  OnePhase(HostJob<T>& job, const SizeEstimate& plan)
      : job_(job),
        store_(std::make_unique<RowStore<V>>(job.rows(), plan.capacity, job.workers)),
        workspaces_(make_workspaces<V>(job.sizes, job.workers)),
        offsets_(job.rows() + 1, Init::none) {
    fill_store(job_, plan, workspaces_, *store_, offsets_);
    for (std::int64_t i = 0; i < job_.rows(); ++i) {
      if (store_->starts[i] < 0) unplaced_.push_back(static_cast<index_t>(i));
    }
    const auto factors = factors_of<V>(job_.a, job_.b);
    for_listed_rows(job_, unplaced_, [&](std::size_t worker, index_t i) {
      if (offsets_[i + 1] != row_overflow) return;
      const RowTask row = job_.task(i);
      offsets_[i + 1] = workspaces_[worker].accumulate(factors, row, choose_accumulator(row, job_.policy));
      workspaces_[worker].discard();
    });
    counts_to_offsets(offsets_);
  }

  [[nodiscard]] index_t overflow_rows() const noexcept { return static_cast<index_t>(unplaced_.size()); }
  [[nodiscard]] offset_t nnz() const noexcept { return offsets_[job_.rows()]; }
  [[nodiscard]] Array<offset_t> take_offsets() noexcept { return std::move(offsets_); }

  /// Copies what is in the store, computes what is not. Ends the object.
  [[nodiscard]] Csr<T> finish() {
    Array<index_t> columns(nnz(), Init::none);
    Array<V> values(has_values<V> ? nnz() : 0, Init::none);
    copy_rows<V>(job_, *store_, offsets_, columns.data(), values.data());
    const auto factors = factors_of<V>(job_.a, job_.b);
    for_listed_rows(job_, unplaced_, [&](std::size_t worker, index_t i) {
      const RowTask row = job_.task(i);
      workspaces_[worker].accumulate(factors, row, choose_accumulator(row, job_.policy));
      workspaces_[worker].emit(columns.data() + offsets_[i], has_values<V> ? values.data() + offsets_[i] : nullptr);
    });
    return assemble_result<V, T>(job_, std::move(offsets_), std::move(columns), std::move(values));
  }

 private:
  HostJob<T>& job_;
  std::unique_ptr<RowStore<V>> store_;
  std::vector<RowWorkspace<V>> workspaces_;
  Array<offset_t> offsets_;
  std::vector<index_t> unplaced_;
};

}  // namespace

template <class V, class T>
OnePhaseResult<T> one_phase(HostJob<T>& job, const SizeEstimate& plan) {
  const std::uint64_t held = store_bytes<V>(job.rows(), plan.capacity, job.workers) +
                             RowWorkspace<V>::bytes(job.sizes) * static_cast<std::uint64_t>(job.workers);
  job.budget.reserve(held, "store of a sparse product");
  OnePhaseResult<T> result;
  Stopwatch watch;
  auto pass = std::make_unique<OnePhase<V, T>>(job, plan);
  result.numeric_ms = watch.milliseconds();
  result.overflow_rows = pass->overflow_rows();
  const std::uint64_t matrix_bytes = detail::csr_bytes(job.rows(), pass->nnz(), value_bytes<V>);
  watch = Stopwatch();
  if (job.budget.fits(matrix_bytes)) {
    job.budget.reserve(matrix_bytes, "sparse product");
    result.matrix = pass->finish();
    result.compaction_ms = watch.milliseconds();
    job.budget.release(held);
    return result;
  }
  Array<offset_t> offsets = pass->take_offsets();
  pass.reset();
  job.budget.release(held);
  result.fallback = "C turned out too large to lie beside its store: all rows were summed again, into place";
  fit_workspaces<V>(job, matrix_bytes);
  job.budget.reserve(matrix_bytes, "sparse product");
  result.matrix = sum_into_place<V>(job, std::move(offsets));
  result.numeric_ms += watch.milliseconds();
  return result;
}

template std::uint64_t one_phase_bytes<float>(const HostJob<float>&, const SizeEstimate&) noexcept;
template std::uint64_t one_phase_bytes<NoValue>(const HostJob<float>&, const SizeEstimate&) noexcept;
template std::uint64_t one_phase_bytes<double>(const HostJob<double>&, const SizeEstimate&) noexcept;
template std::uint64_t one_phase_bytes<NoValue>(const HostJob<double>&, const SizeEstimate&) noexcept;
template OnePhaseResult<float> one_phase<float>(HostJob<float>&, const SizeEstimate&);
template OnePhaseResult<float> one_phase<NoValue>(HostJob<float>&, const SizeEstimate&);
template OnePhaseResult<double> one_phase<double>(HostJob<double>&, const SizeEstimate&);
template OnePhaseResult<double> one_phase<NoValue>(HostJob<double>&, const SizeEstimate&);

}  // namespace tessera::host
