/// \file
/// Products of two sparse matrices, C = A B, row by row (F. Gustavson, ACM TOMS 4(3), 1978): a symbolic phase counts
/// the entries of C, a numeric phase sums them; or sizes are estimated first (Ocean, §3).
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/spgemm_precision.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// How memory for C is sized. All give the same C.
enum class SpgemmWorkflow {
  automatic,  ///< by the products per row and a sample of C: on a GPU `tiles` where a sample finds them full, `sampled`
              ///< where many products meet in few entries, else `symbolic`; says why
  hll,        ///< a HyperLogLog sketch per row of B, merged for every row of C
  cohen,      ///< minima of random keys per row of B, merged for every row of C (E. Cohen, J. Comb. Optim. 2(3), 1998)
  symbolic,   ///< counts every row of C, then sums it at its final offset: least memory
  upper_bound,  ///< the number of products of every row
  sampled,      ///< the total alone, from a sample of counted rows of C
  esc,          ///< as upper_bound; every row by expansion, sorting, contraction (Dalton, Olson & Bell, TOMS 2015)
  tiles,        ///< 8 x 8 tiles with bitmaps, multiplied on tensor cores where the GPU has them
};

[[nodiscard]] std::string_view to_string(
    SpgemmWorkflow workflow);  ///< "auto", "hll", "cohen", "exact", "upper", "sampled", "esc", "tiles"
/// \throws InvalidArgument naming the known workflows and, if there is one, the nearest
[[nodiscard]] SpgemmWorkflow parse_spgemm_workflow(std::string_view name);
/// All but `automatic`.
[[nodiscard]] std::span<const SpgemmWorkflow> spgemm_workflows();
/// One line, for help texts.
[[nodiscard]] std::string_view describe(SpgemmWorkflow workflow);

/// Data structure in which a row of C is summed. `automatic` chooses for every row.
enum class SpgemmAccumulator {
  automatic,
  merge,         ///< merges the scaled rows of B: few and short ones
  dense,         ///< a value for every column of the row's range
  hash,          ///< open addressing, then a sort: few entries in a wide range
  esc,           ///< expand, sort, contract (Dalton, Olson & Bell, TOMS 2015); on a GPU in registers
  bitmap,        ///< a bitmap over the row's column range: the number of earlier bits is the offset of an entry; GPU
  bitmap_tiled,  ///< the same over one range of columns after the other, summed in C itself: any row; GPU
  small_hash,    ///< a small hash table for some lanes of a warp: many products in few entries; GPU
};

[[nodiscard]] std::string_view to_string(SpgemmAccumulator accumulator);  ///< "auto", "merge", "dense", "hash", "esc",
                                                                          ///< "bitmap", "bitmap_tiled", "small_hash"
/// \throws InvalidArgument naming the known accumulators and, if there is one, the nearest
[[nodiscard]] SpgemmAccumulator parse_spgemm_accumulator(std::string_view name);
/// All that a device has, `automatic` excepted.
[[nodiscard]] std::span<const SpgemmAccumulator> spgemm_accumulators(Device::Kind kind = Device::Kind::host);
/// One line, for help texts.
[[nodiscard]] std::string_view describe(SpgemmAccumulator accumulator);

struct SpgemmOptions {
  SpgemmWorkflow workflow = SpgemmWorkflow::automatic;
  /// Forced by name for every row within its limits. On the host `merge` leaves rows of A with more than 256 entries to
  /// the others; on a GPU all but `bitmap_tiled` have limits: merge 8 entries of A, esc 512 products, dense 2048
  /// columns, hash 4096 entries (3072 where a block has 99 KB of shared memory), small_hash 224 entries and 4096
  /// products, bitmap what fits into shared memory.
  /// The workflows `esc` and `tiles` ignore it, unless they fall back to `symbolic`.
  SpgemmAccumulator accumulator = SpgemmAccumulator::automatic;
  /// All but `working` are for the workflow `tiles`, which `automatic` then takes whatever the fill: NotSupported where
  /// tiles cannot form the product. Products of positions alone ignore it.
  SpgemmPrecision precision = SpgemmPrecision::working;
  int registers =
      0;  ///< per sketch, and keys per row of `cohen`: 32, 64 or 128; 0: 32 below an expansion of 48, else 64
  /// Memory of the product beside A and B, C included; 0: what the machine has free. Workflows that need more fall back
  /// to `symbolic`.
  std::uint64_t memory_limit_bytes = 0;
  /// Weakest class allowed. On the host every product is gpu_to_gpu: bitwise the same for every number of threads. On a
  /// GPU `tiles` sums by tensor instructions, in an order of their own (run_to_run), unless gpu_to_gpu is asked for;
  /// `bitmap_tiled`, and `hash` for rows of more than 384 entries, add the terms of an entry in any order
  /// unless a stronger class is asked for; then all classes give the bits of the host (built without fused
  /// multiply-add).
  Determinism determinism = Determinism::not_guaranteed;
  Device device;  ///< where C is formed and will lie
  /// On a GPU: returns when C is enqueued, before it is computed; later work of Tessera on that GPU comes after it. The
  /// report's times then are those of the host. Errors of the device show later. No effect where a loss is measured.
  bool asynchronous = false;
  /// On a GPU: rows of C are expected to be short, and many terms to meet in an entry, as in the Galerkin products of
  /// multigrid. `automatic` then counts sampled rows first and sums in `small_hash` where they confirm it, and small
  /// products take fewer launches. Wrong expectations cost time alone.
  bool short_rows = false;
};

/// Rows of C by the accumulator that summed them; on a GPU rows that overflowed count twice.
struct SpgemmAccumulatorUse {
  SpgemmAccumulator accumulator = SpgemmAccumulator::merge;  ///< never `automatic`
  index_t rows = 0;                                          ///< rows with at least one product
  offset_t products = 0;
};

/// Compression of C, estimated from a few counted rows.
struct SpgemmSample {
  index_t rows = 0;             ///< sampled rows
  double compression = 1.0;     ///< products of these rows over their entries in C
  double relative_error = 0.0;  ///< standard error of 1 / compression, relative
};

/// What a product did, and why.
struct SpgemmReport {
  SpgemmWorkflow workflow = SpgemmWorkflow::symbolic;  ///< what was done, never `automatic`
  std::string reason;                                  ///< one sentence: why this workflow
  std::string fallback;   ///< why it fell back from the workflow chosen first; empty if it did not
  offset_t products = 0;  ///< scalar products a_ik b_kj with both entries stored
  offset_t nnz = 0;       ///< entries of C, those that cancelled to 0 included
  std::optional<double>
      predicted_nnz;                   ///< where they were predicted, as by spgemm_chain(): what nnz was expected to be
  double expansion = 0.0;              ///< products / nnz(A)
  std::optional<SpgemmSample> sample;  ///< only of workflows that sample
  SpgemmPrecision precision = SpgemmPrecision::working;
  std::optional<SpgemmLoss> loss;                  ///< of precisions other than `working`
  int registers = 0;                               ///< of the workflows hll and cohen, else 0
  double estimate_error = 0.0;                     ///< hll, cohen: mean of |estimate - entries| / entries over rows
  index_t overflow_rows = 0;                       ///< rows with more entries than estimated, computed a second time
  std::vector<SpgemmAccumulatorUse> accumulators;  ///< those used, in the order of the enum; rows formed in tiles are
                                                   ///< not among them
  Determinism determinism = Determinism::gpu_to_gpu;  ///< of this product
  int threads = 1;                                    ///< of the host; 0 on a GPU
  std::uint64_t peak_bytes = 0;                       ///< peak memory beside A and B, C included
  double upload_ms = 0.0;                             ///< copying factors of the host to a GPU
  double analysis_ms = 0.0;                           ///< products, ranges, sample, choice
  double sizing_ms = 0.0;                             ///< estimates or the symbolic phase
  double numeric_ms = 0.0;                            ///< numeric phase
  double compaction_ms = 0.0;                         ///< copy into CSR, where sizes were estimated
  double total_ms = 0.0;                              ///< all of it, wall clock

  /// Floating-point operations: a multiplication and an addition per product.
  [[nodiscard]] offset_t flops() const noexcept { return 2 * products; }
  /// Products per entry of C; 1 for an empty one.
  [[nodiscard]] double compression() const noexcept {
    return nnz > 0 ? static_cast<double>(products) / static_cast<double>(nnz) : 1.0;
  }
};

/// A product and its report.
template <class T>
struct SpgemmResult {
  Csr<T> matrix;
  SpgemmReport report;
};

/// C = A B. Rows of C are sorted; an entry exists where at least one product a_ik b_kj does, even if the sum is 0. The
/// terms of an entry are added in the order of row i of A, so C has the same bits for every workflow and every number
/// of threads (on a GPU see SpgemmOptions::determinism). Pattern matrices count as ones: their product holds counts.
/// \param a m x k \param b k x n; each on the host or on the device of the options, where C, m x n, will lie
/// \throws DimensionError; NotSupported for a factor on another device, or an accumulator that the device does not
/// have, or a precision for which tiles cannot form the product;
///         InvalidArgument for options out of range or that exclude each other; InvalidMatrix with the place of a
///         finite value that half precision does not hold, in `fp16_fp32`; OutOfMemory with the bytes of the whole
///         product, before any of it is summed
/// O(products + rows) work and O(entries of the widest row) memory per thread beside C; the workflows other than
/// `symbolic` hold up to another copy of C.
template <class T>
[[nodiscard]] SpgemmResult<T> spgemm(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options = {});

/// The positions of C = A B as a pattern matrix; values are ignored. Throws as spgemm().
template <class T>
[[nodiscard]] SpgemmResult<T> spgemm_pattern(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options = {});

/// C = A B with the symbolic phase done once, for factors whose values change.
template <class T>
class SpgemmPlan {
 public:
  /// Symbolic phase: the structure of C. Shares ownership of the factors.
  /// \throws as spgemm(); InvalidArgument for a null pointer; NotSupported for a precision other than `working`
  SpgemmPlan(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b, const SpgemmOptions& options = {});
  /// Takes ownership of the factors.
  SpgemmPlan(Csr<T> a, Csr<T> b, const SpgemmOptions& options = {});
  ~SpgemmPlan();
  SpgemmPlan(SpgemmPlan&&) noexcept;
  SpgemmPlan& operator=(SpgemmPlan&&) noexcept;

  /// C as a pattern matrix.
  [[nodiscard]] const Csr<T>& structure() const noexcept;
  /// Of the planning.
  [[nodiscard]] const SpgemmReport& report() const noexcept;
  /// Memory of the plan beside the factors: C's structure and the rows' workspaces.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  /// The product of the planned factors. Not concurrent with other products of this plan. \throws OutOfMemory
  [[nodiscard]] Csr<T> multiply();
  /// The product of other factors with the planned structures. Bitwise equal to spgemm().
  /// \param a, b on the host or on the device of the plan. Structures are compared, O(nnz), but not where a factor
  /// shares that of the planned one (Csr::with_values)
  /// \throws InvalidMatrix naming the first difference of a structure, NotSupported for a factor on another device,
  ///         OutOfMemory
  [[nodiscard]] Csr<T> multiply(const Csr<T>& a, const Csr<T>& b);
  /// The same into the values of C, in the order of structure(), without allocations where the factors lie on the
  /// device of the plan. \param values on the device of the plan
  /// \throws DimensionError for another number of values, NotSupported for values on another device
  void multiply_into(const Csr<T>& a, const Csr<T>& b, std::span<T> values);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Which product of R A P is formed first.
enum class GalerkinOrder {
  automatic,  ///< as spgemm_chain() (tessera/spgemm_prediction.hpp), but A P first where none gains a tenth
  a_p_first,  ///< R (A P) (Dalton, Olson & Bell, TOMS 2015)
  r_a_first,  ///< (R A) P
};

/// R A P and the reports of its two products.
template <class T>
struct GalerkinResult {
  Csr<T> matrix;
  SpgemmReport first;                              ///< of A P, or of R A
  SpgemmReport second;                             ///< of R (A P), or of (R A) P
  GalerkinOrder order = GalerkinOrder::a_p_first;  ///< never `automatic`
  std::string reason;                              ///< why this order
  Csr<T> a_p_matrix;                               ///< A P where it was asked for, else 0 x 0
};

/// Options of each of the two products.
struct GalerkinOptions {
  SpgemmOptions first;
  SpgemmOptions second;
  bool keep_a_p = false;  ///< return A P, too, which is formed first then
  GalerkinOrder order = GalerkinOrder::automatic;
};

/// The Galerkin product R A P of algebraic multigrid. \param r l x m, \param a m x k, \param p k x n
/// \throws as spgemm(); a limit on memory holds for each product
template <class T>
[[nodiscard]] GalerkinResult<T> galerkin(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p,
                                         const SpgemmOptions& options = {});
/// The same with options of each product. \throws NotSupported where both are to be formed on different devices;
/// InvalidArgument where R A is to be formed first and A P to be kept
template <class T>
[[nodiscard]] GalerkinResult<T> galerkin(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p,
                                         const GalerkinOptions& options);

/// In which order the products of a power are formed.
enum class PowerOrder {
  /// `binary`, unless k is 4 to 8 and a sample of A A says that it has more than an eighth of all n^2 entries: then the
  /// addition chain with the least predicted work (predict_power()), a gain below a tenth does not count.
  automatic,
  binary,      ///< a square for every further bit of k from the left, then times A where the bit is 1
  one_by_one,  ///< A^j A for j = 1, 2, ..., k - 1
};

/// A^k and the reports of its products, in their order.
template <class T>
struct MatrixPower {
  Csr<T> matrix;
  std::vector<SpgemmReport> products;
  std::string order;        ///< "A A, A^2 A": what was multiplied; empty for k < 2
  std::string reason;       ///< why this order
  double predict_ms = 0.0;  ///< what the choice took
};

/// A^k by products of lower powers, at most 2 log2 k of them but for `one_by_one`. k = 0 gives the identity, k = 1 a
/// copy; both keep the storage of A (a pattern stays one). From k = 2 on a pattern matrix gives counts: the walks of
/// length k from i to j. Sums depend on the order.
/// The limit on memory counts what is held beside A: powers that are still needed, too. Where a prediction needs more
/// memory than there is, the order is `binary` and the reason says so.
/// \throws DimensionError for a rectangular matrix, InvalidArgument for a negative k; else as spgemm()
template <class T>
[[nodiscard]] MatrixPower<T> matrix_power(const Csr<T>& a, int k, const SpgemmOptions& options = {},
                                          PowerOrder order = PowerOrder::automatic);

extern template class SpgemmPlan<float>;
extern template class SpgemmPlan<double>;

}  // namespace tessera
