/// In-links of one device: own columns come first, then those of the halo, so columns ascend in every row.
#include "solvers/distributed/transition_block.hpp"

#include "core/parallel.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace tessera::detail {

namespace {

struct HaloCount {
  offset_t nnz = 0;
  index_t rows = 0;
  HaloCount& operator+=(const HaloCount& other) noexcept {
    nnz += other.nnz;
    rows += other.rows;
    return *this;
  }
};

template <class T>
class TransitionSplitter {
 public:
  TransitionSplitter(const CsrView<T>& in_links, const Partition& partition, int part)
      : in_links_(in_links),
        partition_(partition),
        part_(part),
        first_(partition.first_row(part)),
        rows_(partition.rows_of(part)),
        begin_(offset_of(first_)),
        finder_(in_links.cols) {}

  [[nodiscard]] TransitionBlock<T> split(const Device& host) {
    const HaloCount others = find(host);
    take_whole_parts();
    TransitionBlock<T> block{finder_.number(partition_), {}, others.nnz, others.rows};
    block.in_links = renumbered(host, static_cast<index_t>(block.halo.size()));
    return block;
  }

 private:
  /// Entries of a row: [own_begin, own_end) are in own columns.
  struct SplitRow {
    std::span<const index_t> below, own, above;
  };

  [[nodiscard]] offset_t offset_of(index_t row) const { return in_links_.row_offsets[static_cast<std::size_t>(row)]; }

  [[nodiscard]] SplitRow row(std::int64_t i) const {
    const auto at = static_cast<index_t>(first_ + i);
    const auto begin = static_cast<std::size_t>(offset_of(at));
    const auto columns = in_links_.columns.subspan(begin, static_cast<std::size_t>(offset_of(at + 1)) - begin);
    const auto own = std::lower_bound(columns.begin(), columns.end(), first_);
    const auto above = std::lower_bound(own, columns.end(), first_ + rows_);
    return {{columns.begin(), own}, {own, above}, {above, columns.end()}};
  }

  [[nodiscard]] HaloCount find(const Device& host) {
    return host::parallel_sum<HaloCount>(host, rows_, [&](host::Range range) {
      HaloCount count;
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const SplitRow split = row(i);
        finder_.mark(split.below);
        finder_.mark(split.above);
        const auto others = static_cast<offset_t>(split.below.size() + split.above.size());
        count += {others, others > 0 ? 1 : 0};
      }
      return count;
    });
  }

  void take_whole_parts() {
    for (int part = 0; part < partition_.parts(); ++part) {
      if (part == part_) continue;
      index_t marked = 0;
      for (index_t column = partition_.first_row(part); column < partition_.first_row(part + 1); ++column) {
        marked += finder_.is_marked(column) ? 1 : 0;
      }
      if (marked < least_share_of_whole * partition_.rows_of(part)) continue;
      finder_.mark_all(partition_.first_row(part), partition_.first_row(part + 1));
    }
  }

  [[nodiscard]] Csr<T> renumbered(const Device& host, index_t halo) const {
    const offset_t nnz = offset_of(first_ + rows_) - begin_;
    Array<offset_t> offsets(rows_ + 1, Init::none);
    Array<index_t> columns(nnz, Init::none);
    Array<T> values(in_links_.is_pattern() ? 0 : nnz, Init::none);
    offsets[rows_] = nnz;
    host::parallel_for(host, rows_, [&](host::Range range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const SplitRow split = row(i);
        offset_t to = offsets[i] = offset_of(static_cast<index_t>(first_ + i)) - begin_;
        for (const index_t column : split.own) columns[to++] = column - first_;
        for (const auto& others : {split.below, split.above}) {
          for (const index_t column : others) columns[to++] = rows_ + finder_.slot(column);
        }
        if (!in_links_.is_pattern()) copy_values(i, split, values.data() + offsets[i]);
      }
    });
    const std::int64_t cols = std::int64_t{rows_} + halo;
    if (in_links_.is_pattern()) {
      return Csr<T>::pattern(rows_, cols, std::move(offsets), std::move(columns), Check::trusted);
    }
    return Csr<T>(rows_, cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
  }

  /// In the order of the columns.
  void copy_values(std::int64_t i, const SplitRow& split, T* to) const {
    const T* const from = in_links_.values.data() + offset_of(static_cast<index_t>(first_ + i));
    const T* const own = from + split.below.size();
    const T* const above = own + split.own.size();
    to = std::copy(own, above, to);
    to = std::copy(from, own, to);
    std::copy(above, above + split.above.size(), to);
  }

  const CsrView<T>& in_links_;
  const Partition& partition_;
  int part_;
  index_t first_;
  index_t rows_;
  offset_t begin_;
  HaloFinder finder_;
};

}  // namespace

template <class T>
TransitionBlock<T> make_transition_block(const CsrView<T>& in_links, const Partition& partition, int part,
                                         const Device& host) {
  return TransitionSplitter<T>(in_links, partition, part).split(host);
}

template TransitionBlock<float> make_transition_block(const CsrView<float>&, const Partition&, int, const Device&);
template TransitionBlock<double> make_transition_block(const CsrView<double>&, const Partition&, int, const Device&);

}  // namespace tessera::detail
