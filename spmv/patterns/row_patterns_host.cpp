/// \file
/// Row patterns on the host: the search for lists, and the list of each row, by threads.
#include "core/parallel.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/patterns/row_screen.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::host {

using namespace detail;

namespace {

/// The steps of search_row_lists().
template <class T, bool WithValues>
class HostSteps {
 public:
  HostSteps(const CsrView<T>& a, const Device& device)
      : device_(device),
        rows_(a.rows),
        sample_(sample_of_rows(a.rows)),
        source_{a.row_offsets.data(), a.columns.data(), a.values.data()} {
    found_.kind = kind();
  }

  [[nodiscard]] RowListKind kind() const { return WithValues ? RowListKind::columns_and_values : RowListKind::columns; }
  [[nodiscard]] index_t rows() const { return rows_; }
  [[nodiscard]] index_t sampled() const { return sample_.count; }

  [[nodiscard]] offset_t sampled_nonzeros() const {
    offset_t nonzeros = 0;
    for (index_t i = 0; i < sample_.count; ++i) nonzeros += source_.length(sample_[i]);
    return nonzeros;
  }

  [[nodiscard]] std::vector<CountedList> count_sample() const { return count_sample(sample_.count); }
  /// Empty as soon as more rows than `most_unnamed` are on no list, whichever lists are chosen.
  [[nodiscard]] std::vector<CountedList> count_sample(std::int64_t most_unnamed) const {
    return count(
        sample_.count, [this](std::int64_t i) { return sample_[i]; }, most_unnamed);
  }
  [[nodiscard]] std::vector<CountedList> count_exceptions() const {
    const std::int64_t all = found_.exceptions.size();
    return count(
        all, [this](std::int64_t i) { return found_.exceptions[i]; }, all);
  }

  void set_lists(const std::vector<CountedList>& lists) {
    found_.lists = static_cast<int>(lists.size());
    found_.width = width_of(lists);
    found_.table = Array<index_t>(std::int64_t{found_.lists + 1} * found_.stride());
    if (WithValues) found_.values = Array<T>(std::int64_t{found_.lists + 1} * found_.width);
    list_of_.clear();
    for (int list = 0; list < found_.lists; ++list) {
      const CountedList& own = lists[static_cast<std::size_t>(list)];
      copy_list(list, own.row);
      list_of_.emplace(own.hash, list);
    }
  }

  void name_rows() {
    found_.codes = Array<std::uint8_t>(rows_, Init::none);
    parallel_for(device_, rows_, [this](Range rows) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) name(static_cast<index_t>(row));
    });
  }
  void name_exceptions() {
    for (std::int64_t i = 0; i < found_.exceptions.size(); ++i) name(found_.exceptions[i]);
  }
  [[nodiscard]] std::int64_t exceptions() const {
    return std::count(found_.codes.data(), found_.codes.data() + found_.codes.size(),
                      static_cast<std::uint8_t>(found_.lists));
  }
  void collect_exceptions() {
    found_.exceptions = Array<index_t>(exceptions(), Init::none);
    found_.longest_exception = 0;
    std::int64_t next = 0;
    for (index_t row = 0; row < rows_ && next < found_.exceptions.size(); ++row) {
      if (found_.codes[row] != found_.lists) continue;
      found_.exceptions[next++] = row;
      found_.longest_exception = std::max(found_.longest_exception, source_.length(row));
    }
  }

  [[nodiscard]] RowPatterns<T> take() { return std::move(found_); }

 private:
  template <class RowOf>
  [[nodiscard]] std::vector<CountedList> count(std::int64_t count, const RowOf& row_of,
                                               std::int64_t most_unnamed) const {
    std::unordered_map<std::uint32_t, CountedList> by_hash;
    std::int64_t too_long = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (too_long + static_cast<std::int64_t>(by_hash.size()) - most_row_lists > most_unnamed) return {};
      const index_t row = row_of(i);
      const offset_t length = source_.length(row);
      if (length > longest_row_list) {
        ++too_long;
        continue;
      }
      const std::uint32_t hash = source_.hash(row);
      CountedList& counted =
          by_hash.try_emplace(hash, CountedList{hash, 0, row, static_cast<index_t>(length)}).first->second;
      ++counted.count;
    }
    std::vector<CountedList> result;
    result.reserve(by_hash.size());
    for (const auto& [hash, counted] : by_hash) result.push_back(counted);
    return result;
  }

  void copy_list(int list, index_t row) {
    index_t* const to = found_.table.data() + std::int64_t{list} * found_.stride();
    const offset_t begin = source_.row_offsets[row];
    to[0] = static_cast<index_t>(source_.length(row));
    for (index_t k = 0; k < to[0]; ++k) {
      to[1 + k] = source_.columns[begin + k] - row;
      if constexpr (WithValues) found_.values[std::int64_t{list} * found_.width + k] = source_.values[begin + k];
    }
  }

  [[nodiscard]] bool is_on(index_t row, int list) const {
    return source_.equals(row, found_.table.data() + std::int64_t{list} * found_.stride(),
                          WithValues ? found_.values.data() + std::int64_t{list} * found_.width : nullptr);
  }
  /// The most frequent list is tried before anything is hashed.
  void name(index_t row) {
    int list = found_.lists;
    if (found_.lists > 0 && is_on(row, 0)) {
      list = 0;
    } else if (source_.length(row) <= found_.width) {
      const auto proposed = list_of_.find(source_.hash(row));
      if (proposed != list_of_.end() && is_on(row, proposed->second)) list = proposed->second;
    }
    found_.codes[row] = static_cast<std::uint8_t>(list);
  }

  Device device_;
  index_t rows_;
  SampledRows sample_;
  RowSource<T, WithValues> source_;
  RowPatterns<T> found_;
  std::unordered_map<std::uint32_t, int> list_of_;
};

template <class T, bool WithValues>
std::optional<RowListEstimate> search(const CsrView<T>& a, const Device& device, RowPatterns<T>& found) {
  HostSteps<T, WithValues> steps(a, device);
  std::optional<RowListEstimate> refusal = search_row_lists(steps);
  if (!refusal) found = steps.take();
  return refusal;
}

template <class T, bool WithValues>
RowListEstimate estimate(const CsrView<T>& a, const Device& device) {
  const HostSteps<T, WithValues> steps(a, device);
  const auto most_unnamed = static_cast<std::int64_t>((1.0 - least_named_share_of_sample) * steps.sampled()) + 1;
  const auto lists = choose_row_lists({}, steps.count_sample(most_unnamed), places_of(steps.kind()), steps.sampled());
  const offset_t nonzeros = lists.empty() ? 0 : steps.sampled_nonzeros();
  return estimate_of(steps.kind(), lists, steps.sampled(), nonzeros);
}

}  // namespace

template <class T>
std::optional<RowListEstimate> search_row_patterns(const CsrView<T>& a, RowListKind kind, const Device& device,
                                                   RowPatterns<T>& found) {
  return kind == RowListKind::columns ? search<T, false>(a, device, found) : search<T, true>(a, device, found);
}

template <class T>
RowPatterns<T> find_row_patterns(const CsrView<T>& a, const Device& device) {
  RowPatterns<T> found;
  if (!a.is_pattern() && !search<T, true>(a, device, found)) return found;
  if (const auto refusal = search<T, false>(a, device, found)) refuse_sample(*refusal);
  return found;
}

namespace {

/// Whether two rows that follow each other have one list of relative columns.
template <class T>
[[nodiscard]] bool is_like_next(const CsrView<T>& a, std::int64_t row) {
  const offset_t* const own = a.row_offsets.data() + row;
  const offset_t length = own[1] - own[0];
  if (own[2] - own[1] != length) return false;
  const index_t* const columns = a.columns.data() + own[0];
  const auto is_next = [](index_t of_row, index_t of_next) { return of_next == of_row + 1; };
  return std::equal(columns, columns + length, columns + length, is_next);
}

}  // namespace

template <class T>
bool neighbours_are_alike(const CsrView<T>& a) {
  if (a.rows < 2) return true;
  const SampledRows sample{a.rows - 1, std::min(a.rows - 1, screened_rows)};
  index_t alike = 0;
  for (index_t i = 0; i < sample.count; ++i) alike += is_like_next(a, sample[i]) ? 1 : 0;
  return alike >= least_alike_on_host * sample.count;
}

template <class T>
RowListEstimate estimate_row_lists(const CsrView<T>& a, RowListKind kind, const Device& device) {
  return kind == RowListKind::columns ? estimate<T, false>(a, device) : estimate<T, true>(a, device);
}

template std::optional<RowListEstimate> search_row_patterns(const CsrView<float>&, RowListKind, const Device&,
                                                            RowPatterns<float>&);
template std::optional<RowListEstimate> search_row_patterns(const CsrView<double>&, RowListKind, const Device&,
                                                            RowPatterns<double>&);
template RowPatterns<float> find_row_patterns(const CsrView<float>&, const Device&);
template RowPatterns<double> find_row_patterns(const CsrView<double>&, const Device&);
template bool neighbours_are_alike(const CsrView<float>&);
template bool neighbours_are_alike(const CsrView<double>&);
template RowListEstimate estimate_row_lists(const CsrView<float>&, RowListKind, const Device&);
template RowListEstimate estimate_row_lists(const CsrView<double>&, RowListKind, const Device&);

}  // namespace tessera::host
