#include "tessera/error.hpp"
#include "tessera/nearest.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

namespace tessera {

namespace {

template <class E>
struct NamedValue {
  E value;
  std::string_view name;
  std::string_view description;
};

constexpr std::array<NamedValue<SpgemmWorkflow>, 8> workflows{{
    {SpgemmWorkflow::automatic, "auto", "by products per row and a sample; on a GPU mostly exact"},
    {SpgemmWorkflow::hll, "hll", "a HyperLogLog sketch per row of B, merged for every row of C"},
    {SpgemmWorkflow::cohen, "cohen", "minima of random keys per row of B, merged for every row of C"},
    {SpgemmWorkflow::symbolic, "exact", "counts every row first; least memory"},
    {SpgemmWorkflow::upper_bound, "upper", "the number of products of every row"},
    {SpgemmWorkflow::sampled, "sampled", "the total, from a sample of counted rows"},
    {SpgemmWorkflow::esc, "esc", "the number of products of every row; all rows expanded, sorted, contracted"},
    {SpgemmWorkflow::tiles, "tiles", "8 x 8 tiles with bitmaps, multiplied on tensor cores where a GPU has them"},
}};

constexpr std::array<NamedValue<SpgemmAccumulator>, 8> accumulators{{
    {SpgemmAccumulator::automatic, "auto", "chosen for every row"},
    {SpgemmAccumulator::merge, "merge", "rows of B merged one after the other"},
    {SpgemmAccumulator::dense, "dense", "a value for every column of the row's range"},
    {SpgemmAccumulator::hash, "hash", "open addressing, then a sort"},
    {SpgemmAccumulator::esc, "esc", "expand, sort, contract"},
    {SpgemmAccumulator::bitmap, "bitmap", "a bitmap over the row's range, whose population counts are offsets (GPU)"},
    {SpgemmAccumulator::bitmap_tiled, "bitmap_tiled",
     "a bitmap over one range of columns after the other, sums in C (GPU)"},
    {SpgemmAccumulator::small_hash, "small_hash", "a small hash table for some lanes of a warp (GPU)"},
}};

constexpr std::array<NamedValue<SpgemmPrecision>, 3> precisions{{
    {SpgemmPrecision::working, "working", "in the type of the factors, or a wider one"},
    {SpgemmPrecision::fp16_fp32, "fp16-fp32", "values rounded to half precision, summed in single (tiles)"},
    {SpgemmPrecision::tf32x3, "3xtf32", "values in single precision as two TF32 numbers each (tiles)"},
}};

template <class E, std::size_t N>
const NamedValue<E>& entry_of(const std::array<NamedValue<E>, N>& table, E value, const char* what) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry;
  }
  throw InvalidArgument(fmt::format("no SpGEMM {} has the number {}", what, static_cast<int>(value)));
}

template <class E, std::size_t N>
E parse_entry(const std::array<NamedValue<E>, N>& table, std::string_view name, const char* what) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) {
    if (entry.name == name) return entry.value;
    names.push_back(entry.name);
  }
  throw InvalidArgument(fmt::format("unknown SpGEMM {} '{}': known are {}{}", what, name, fmt::join(names, ", "),
                                    nearest_hint(name, names)));
}

/// All entries but the first, which is the default.
template <class E, std::size_t N>
constexpr std::array<E, N - 1> choices(const std::array<NamedValue<E>, N>& table) {
  std::array<E, N - 1> result{};
  for (std::size_t k = 1; k < N; ++k) result[k - 1] = table[k].value;
  return result;
}

}  // namespace

std::string_view to_string(SpgemmWorkflow workflow) { return entry_of(workflows, workflow, "workflow").name; }
std::string_view describe(SpgemmWorkflow workflow) { return entry_of(workflows, workflow, "workflow").description; }
SpgemmWorkflow parse_spgemm_workflow(std::string_view name) { return parse_entry(workflows, name, "workflow"); }
std::span<const SpgemmWorkflow> spgemm_workflows() {
  static constexpr auto all = choices(workflows);
  return all;
}

std::string_view to_string(SpgemmAccumulator accumulator) {
  return entry_of(accumulators, accumulator, "accumulator").name;
}
std::string_view describe(SpgemmAccumulator accumulator) {
  return entry_of(accumulators, accumulator, "accumulator").description;
}
SpgemmAccumulator parse_spgemm_accumulator(std::string_view name) {
  return parse_entry(accumulators, name, "accumulator");
}
std::span<const SpgemmAccumulator> spgemm_accumulators(Device::Kind kind) {
  static constexpr auto all = choices(accumulators);
  const std::span<const SpgemmAccumulator> every(all);
  return kind == Device::Kind::cuda ? every : every.first(4);
}

std::string_view to_string(SpgemmPrecision precision) { return entry_of(precisions, precision, "precision").name; }
std::string_view describe(SpgemmPrecision precision) {
  return entry_of(precisions, precision, "precision").description;
}
SpgemmPrecision parse_spgemm_precision(std::string_view name) { return parse_entry(precisions, name, "precision"); }
std::span<const SpgemmPrecision> spgemm_precisions() {
  static constexpr auto all = choices(precisions);
  return all;
}

}  // namespace tessera
