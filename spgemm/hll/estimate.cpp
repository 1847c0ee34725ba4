#include "spgemm/hll/estimate.hpp"

#include "spgemm/cohen/min_keys.hpp"
#include "spgemm/hll/sketch.hpp"

#include <algorithm>
#include <array>

namespace tessera::host {

namespace {

template <int M>
struct HllSketch {
  using Word = std::uint8_t;
  static constexpr int words = M;
  static void insert(Word* sketch, index_t column) noexcept { sketch_insert<M>(sketch, column); }
  static void merge(Word* sketch, const Word* other) noexcept { sketch_merge<M>(sketch, other); }
  static double estimate(const Word* sketch) noexcept { return sketch_estimate<M>(sketch); }
};

template <int K>
struct CohenSketch {
  using Word = std::uint32_t;
  static constexpr int words = K;
  static void insert(Word* keys, index_t column) noexcept { cohen_insert<K>(keys, column); }
  static void merge(Word* keys, const Word* other) noexcept { cohen_merge<K>(keys, other); }
  static double estimate(const Word* keys) noexcept { return cohen_estimate<K>(keys); }
};

template <class Sketch, class T>
Array<typename Sketch::Word> sketch_rows(const CsrView<T>& b, const Device& device) {
  Array<typename Sketch::Word> sketches(std::int64_t{b.rows} * Sketch::words);
  parallel_for(device, b.rows, [&](Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      auto* sketch = sketches.data() + i * Sketch::words;
      for (offset_t k = b.row_offsets[row]; k < b.row_offsets[row + 1]; ++k) {
        Sketch::insert(sketch, b.columns[static_cast<std::size_t>(k)]);
      }
    }
  });
  return sketches;
}

template <class Sketch, class T>
Array<float> estimate_with(const ProductJob<T>& job) {
  const auto sketches = sketch_rows<Sketch>(job.b, job.device);
  Array<float> estimates(job.rows(), Init::none);
  for_product_blocks(job, [&](std::size_t /*worker*/, Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const RowTask row = job.task(i);
      if (row.products == 0 || row.lists() == 1) {
        estimates[i] = static_cast<float>(row.products);
        continue;
      }
      std::array<typename Sketch::Word, static_cast<std::size_t>(Sketch::words)> merged{};
      for (offset_t k = row.begin; k < row.end; ++k) {
        const std::int64_t j = job.a.columns[static_cast<std::size_t>(k)];
        Sketch::merge(merged.data(), sketches.data() + j * Sketch::words);
      }
      estimates[i] = static_cast<float>(std::min(Sketch::estimate(merged.data()), static_cast<double>(row.limit)));
    }
  });
  return estimates;
}

template <template <int> class Sketch, class T>
Array<float> estimate_sized(const ProductJob<T>& job, int registers) {
  if (registers == 32) return estimate_with<Sketch<32>>(job);
  if (registers == 64) return estimate_with<Sketch<64>>(job);
  return estimate_with<Sketch<128>>(job);
}

}  // namespace

std::uint64_t estimate_bytes(SpgemmWorkflow workflow, int registers, std::int64_t a_rows,
                             std::int64_t b_rows) noexcept {
  const std::uint64_t word = workflow == SpgemmWorkflow::cohen ? sizeof(std::uint32_t) : 1;
  return static_cast<std::uint64_t>(b_rows) * static_cast<std::uint64_t>(registers) * word +
         static_cast<std::uint64_t>(a_rows) * sizeof(float);
}

template <class T>
Array<float> estimate_rows(const ProductJob<T>& job, SpgemmWorkflow workflow, int registers) {
  return workflow == SpgemmWorkflow::cohen ? estimate_sized<CohenSketch>(job, registers)
                                           : estimate_sized<HllSketch>(job, registers);
}

template Array<float> estimate_rows(const ProductJob<float>&, SpgemmWorkflow, int);
template Array<float> estimate_rows(const ProductJob<double>&, SpgemmWorkflow, int);

}  // namespace tessera::host
