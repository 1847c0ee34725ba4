/// \file
/// A sample of a matrix for predicted times: its parts, and what is counted in them.
#include "spmv/prediction/matrix_sample.hpp"

#include "spmv/csr_vector/csr_vector_tuning.hpp"

#include <algorithm>
#include <vector>

namespace tessera::detail {

namespace {

/// Lines at most about so many apart count as near: streams move on by a few lines per strip.
constexpr index_t near_lines = 16;

/// A set of lines, by open addressing. clear() is O(1): slots of an earlier generation are free.
class LineSet {
 public:
  LineSet() : slots_(std::size_t{2} * strip_nonzeros) {}

  void clear() noexcept { ++generation_; }

  /// \returns whether it is new
  bool insert(index_t line) noexcept {
    Slot& slot = slots_[place_of(line)];
    if (slot.generation == generation_) return false;
    slot = {line, generation_};
    return true;
  }

  [[nodiscard]] bool contains(index_t line) const noexcept { return slots_[place_of(line)].generation == generation_; }

 private:
  struct Slot {
    index_t line = 0;
    std::uint32_t generation = 0;
  };

  /// Multiplicative hashing (Knuth).
  [[nodiscard]] std::size_t place_of(index_t line) const noexcept {
    std::size_t place = static_cast<std::uint32_t>(line) * 2654435769U >> 12;
    while (true) {
      place &= slots_.size() - 1;
      const Slot& slot = slots_[place];
      if (slot.generation != generation_ || slot.line == line) return place;
      ++place;
    }
  }

  std::vector<Slot> slots_;
  std::uint32_t generation_ = 1;
};

[[nodiscard]] double share(std::int64_t part, std::int64_t whole) noexcept {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// Counts the lines of one strip after the other.
class StripCounter {
 public:
  explicit StripCounter(int element_bytes) : entries_per_line_(vector_line_bytes / element_bytes) {}

  void count(std::span<const index_t> strip) {
    distinct_.clear();
    neighbourhoods_.clear();
    const std::size_t half = strip.size() / 2;
    for (std::size_t k = 0; k < strip.size(); ++k) {
      const index_t line = strip[k] / entries_per_line_;
      const bool is_new = distinct_.insert(line);
      lines_ += is_new ? 1 : 0;
      if (k < half) {
        neighbourhoods_.insert(line / near_lines);
      } else if (is_new && is_far(line / near_lines)) {
        ++far_lines_;
      }
    }
    nonzeros_ += static_cast<std::int64_t>(strip.size());
    second_halves_ += static_cast<std::int64_t>(strip.size() - half);
  }

  [[nodiscard]] VectorReads reads() const noexcept {
    return {share(lines_, nonzeros_), share(far_lines_, second_halves_)};
  }

 private:
  [[nodiscard]] bool is_far(index_t neighbourhood) const noexcept {
    return !neighbourhoods_.contains(neighbourhood - 1) && !neighbourhoods_.contains(neighbourhood) &&
           !neighbourhoods_.contains(neighbourhood + 1);
  }

  index_t entries_per_line_;
  LineSet distinct_;
  LineSet neighbourhoods_;
  std::int64_t lines_ = 0;
  std::int64_t far_lines_ = 0;
  std::int64_t nonzeros_ = 0;
  std::int64_t second_halves_ = 0;
};

/// Lengths of the rows of a group.
[[nodiscard]] std::vector<offset_t> lengths_of_group(const MatrixSample& sample, std::int64_t group) {
  std::vector<offset_t> lengths(static_cast<std::size_t>(sample.groups.length));
  const auto first = static_cast<std::size_t>(group * (sample.groups.length + 1));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = sample.row_offsets[first + i + 1] - sample.row_offsets[first + i];
  }
  return lengths;
}

/// Nonzeros that the lanes of a group could have had while its longest rows were summed. Long rows are summed apart.
[[nodiscard]] offset_t lane_slots_of(std::span<const offset_t> lengths, int lanes) {
  const offset_t long_row = cuda::csr_vector_long_row(lanes);
  const auto rows_per_warp = static_cast<std::size_t>(group_rows / lanes);
  offset_t slots = 0;
  for (std::size_t first = 0; first < lengths.size(); first += rows_per_warp) {
    offset_t rounds = 0;
    for (std::size_t i = first; i < std::min(first + rows_per_warp, lengths.size()); ++i) {
      if (lengths[i] <= long_row) rounds = std::max(rounds, (lengths[i] + lanes - 1) / lanes);
    }
    slots += rounds * group_rows;
  }
  return slots;
}

}  // namespace

MatrixSample sample_matrix(std::span<const offset_t> row_offsets, std::span<const index_t> columns,
                           const Device& device) {
  MatrixSample sample;
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  sample.strips = SampleParts::of(static_cast<std::int64_t>(columns.size()), strip_nonzeros, most_strips);
  sample.groups = SampleParts::of(std::max(rows, std::int64_t{0}), group_rows, most_groups);
  sample.columns.resize(static_cast<std::size_t>(sample.strips.count * sample.strips.length));
  sample.row_offsets.resize(static_cast<std::size_t>(sample.groups.count * (sample.groups.length + 1)));
  if (sample.groups.count == 0) return sample;
  if (!device.is_host()) {
    cuda::copy_sample(row_offsets, columns, device, sample);
    return sample;
  }
  const auto copy_parts = [](auto from, const SampleParts& parts, std::int64_t length, auto& into) {
    for (std::int64_t part = 0; part < parts.count; ++part) {
      std::copy_n(from.begin() + parts.begin(part), length, into.begin() + part * length);
    }
  };
  copy_parts(columns, sample.strips, sample.strips.length, sample.columns);
  copy_parts(row_offsets, sample.groups, sample.groups.length + 1, sample.row_offsets);
  return sample;
}

VectorReads count_vector_reads(const MatrixSample& sample, int element_bytes) {
  StripCounter counter(element_bytes);
  const std::span<const index_t> columns(sample.columns);
  const auto length = static_cast<std::size_t>(sample.strips.length);
  for (std::int64_t strip = 0; strip < sample.strips.count; ++strip) {
    counter.count(columns.subspan(static_cast<std::size_t>(strip) * length, length));
  }
  return counter.reads();
}

RowLengthSample measure_row_lengths(const MatrixSample& sample) {
  RowLengthSample result;
  const std::int64_t rows = sample.groups.count * sample.groups.length;
  if (rows == 0) return result;
  offset_t typical = 0;
  offset_t padded = 0;
  for (std::int64_t group = 0; group < sample.groups.count; ++group) {
    offset_t longest = 0;
    for (const offset_t length : lengths_of_group(sample, group)) {
      typical += length <= cuda::csr_vector_typical_row ? length : 0;
      longest = std::max(longest, length);
    }
    padded += longest * group_rows;
    result.longest = std::max(result.longest, longest);
  }
  result.lanes = cuda::csr_vector_lanes(static_cast<index_t>(rows), typical);
  const offset_t long_row = cuda::csr_vector_long_row(result.lanes);
  offset_t short_nonzeros = 0;
  offset_t slots = 0;
  for (std::int64_t group = 0; group < sample.groups.count; ++group) {
    const std::vector<offset_t> lengths = lengths_of_group(sample, group);
    for (const offset_t length : lengths) short_nonzeros += length <= long_row ? length : 0;
    slots += lane_slots_of(lengths, result.lanes);
  }
  result.typical_mean = share(typical, rows);
  result.short_nonzeros = share(short_nonzeros, rows);
  result.lane_slots = share(slots, rows);
  result.padded = share(padded, rows);
  return result;
}

}  // namespace tessera::detail
