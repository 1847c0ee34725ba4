/// \file
/// Sparse matrix-vector products, planned once and applied often.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/multi_vector.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The kernels. `automatic` chooses by row lengths and number of products, `measured` by times, and both give their
/// reason.
enum class SpmvAlgorithm {
  automatic,
  csr,         ///< host: rows in parallel; no set-up
  merge,       ///< equal shares of the merge path (Merrill & Garland, SC 2016); hardly any set-up
  merbit,      ///< merge-path tiles with bit-field lane descriptors (MERBIT, §4)
  csr5,        ///< equal tiles of nonzeros, kept as transposed copies (Liu & Vinter, CSR5, ICS 2015)
  csr_vector,  ///< GPU: part of a warp per row, by mean length; long rows split off (Bell & Garland, SC 2009)
  tiles,       ///< 8 x 8 tiles with bitmaps and packed values (Zhang & Gruenwald, bmSPARSE, GRADES-NDA 2018)
  vendor_csr,  ///< GPU: cuSPARSE's product on CSR, prepared once
  vendor_coo,  ///< GPU: cuSPARSE's product on COO
  patterns,    ///< a byte per row names its list of relative columns, or of those and values; needs rows that repeat
  sell,        ///< sliced ELL: short columns, coded values (Kreutzer et al., SELL-C-σ, SIAM J. Sci. Comput. 36, 2014)
  blocked,     ///< x by blocks of columns to lists of segments, then the segments; for columns all over a large x
  streamed,    ///< slices of rows, copied from page-locked memory while the one before is multiplied; for a matrix
               ///< larger than the memory of a GPU (docs/scale.md)
  measured,    ///< no kernel of its own: those that suit the matrix are built and timed on it, one after the other, and
               ///< the one whose set-up and expected_applications products take the least time is kept. That may be
               ///< another one in the next run, with other rounding
};

[[nodiscard]] std::string_view to_string(SpmvAlgorithm algorithm);  ///< "auto", "csr", ..., "vendor-coo"
/// \throws InvalidArgument naming the known kernels and, if there is one, the nearest
[[nodiscard]] SpmvAlgorithm parse_spmv_algorithm(std::string_view name);
/// One line that describes a kernel, for help texts.
[[nodiscard]] std::string_view describe(SpmvAlgorithm algorithm);
/// Kernels that can be chosen by name on a device, without `automatic` and `measured`. The same for every GPU; none in
/// a build without the CUDA backend.
[[nodiscard]] std::span<const SpmvAlgorithm> spmv_algorithms(const Device& device = Device{});
/// The same for a kind of device, whether or not the machine has one.
[[nodiscard]] std::span<const SpmvAlgorithm> spmv_algorithms(Device::Kind kind);
/// All kernels, including those that this build lacks, without `automatic` and `measured`.
[[nodiscard]] std::span<const SpmvAlgorithm> known_spmv_algorithms();

/// Reproducibility of results, in CUB's terms. Ordered: a stronger class satisfies a weaker request.
enum class Determinism {
  not_guaranteed,  ///< the order of some additions may differ from call to call
  run_to_run,      ///< bitwise equal on one device with one thread count
  gpu_to_gpu,      ///< bitwise equal on any device of the kind, whatever the number of threads
};

[[nodiscard]] std::string_view to_string(Determinism determinism);  ///< "not_guaranteed", "run_to_run", "gpu_to_gpu"

struct SpmvOptions {
  SpmvAlgorithm algorithm = SpmvAlgorithm::automatic;
  Device device;
  /// Required class. A kernel named explicitly that cannot keep it is refused; `automatic` and `measured` pick one that
  /// can, and on the host always keep gpu_to_gpu, which is free there. MERBIT by name adds shared rows atomically,
  /// through two output vectors in turn (DualBuffer); but in a fixed order into one vector if a stronger class is
  /// required, or if so many tiles share rows on a GPU that atomics would be slower.
  Determinism determinism = Determinism::not_guaranteed;
  int sigma = 0;            ///< by name only; MERBIT: path items per lane, CSR5: nonzeros per lane; 0: default
  int descriptor_bits = 0;  ///< MERBIT, CSR5: 32 or 64; 0 takes the narrowest that holds sigma
  std::int64_t expected_applications = 1000;  ///< products the plan will serve: `automatic` weighs set-up against them
  /// The plan serves PageRank, which sets this itself: on a GPU `automatic` counts that a whole iteration without
  /// weights is one product along MERBIT's tiles.
  bool rank_products = false;
  /// Keep the values of a double matrix rounded to float, but multiply and sum in double: saves 4 bytes per nonzero on
  /// a GPU. The host gives the same numbers, without the gain. No effect on float and pattern matrices. A finite value
  /// that no float holds is refused (InvalidMatrix).
  bool fp32_values = false;
  /// Also offer apply_transposed(): set-up forms Aᵀ and its own descriptors. A kernel chosen by name serves both;
  /// `automatic` chooses for Aᵀ by its rows, the columns of A.
  bool with_transpose = false;
  /// Bytes that matrix and plan may take on a GPU; 0: what it has free beside ten vectors. A matrix on the host that
  /// takes more is streamed by `automatic`, and of a streamed one as many slices stay on the GPU as fit. Named with 0,
  /// `streamed` keeps none there. No effect on the host, on other kernels by name, and where A lies on the GPU.
  std::uint64_t memory_limit_bytes = 0;
};

/// How a plan of the kernel `streamed` multiplies. On the host slices are ranges of rows, and nothing is copied.
struct StreamInfo {
  std::int64_t slices = 0;
  std::int64_t resident_slices = 0;     ///< the first ones, which stay on the GPU
  std::uint64_t slice_bytes = 0;        ///< of the largest slice
  std::uint64_t bytes_per_product = 0;  ///< that cross the bus
  std::uint64_t page_locked_bytes = 0;  ///< of the host
  double bytes_per_second = 0.0;        ///< of the bus, measured when the plan was made; 0 where nothing crosses it
  double predicted_ms = 0.0;            ///< of a product: bytes_per_product / bytes_per_second
};

/// Additional cost of the transposed product of a plan.
struct TransposeInfo {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;  ///< never `automatic`
  std::uint64_t bytes = 0;                       ///< Aᵀ and its descriptors
  double build_ms = 0.0;                         ///< wall-clock time of transposing and of the set-up for Aᵀ
};

/// Facts about a plan.
struct PlanInfo {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;           ///< never `automatic` or `measured`
  std::string reason;                                     ///< one sentence: why this kernel
  std::uint64_t bytes = 0;                                ///< descriptors and copies, without the matrix
  double build_ms = 0.0;                                  ///< wall-clock time of the set-up
  double upload_ms = 0.0;                                 ///< wall-clock time of copying the matrix to a GPU; not part
                                                          ///< of build_ms, 0 when it lies there already
  Determinism determinism = Determinism::not_guaranteed;  ///< the class that this plan keeps
  int sigma = 0;                           ///< MERBIT and CSR5, else 0; 0 for tiles that are never walked
  int descriptor_bits = 0;                 ///< as sigma
  std::int64_t tiles = 0;                  ///< MERBIT and CSR5, else 0
  std::optional<TransposeInfo> transpose;  ///< of a plan made with_transpose; its class is `determinism`
  std::optional<StreamInfo> stream;        ///< of the kernel `streamed`
};

/// When set-up pays, measured against a kernel without set-up: `csr` on the host, `csr_vector` on a GPU; of a streamed
/// plan against `csr` on the host, which needs no bus.
struct BreakEven {
  double apply_ms = 0.0;      ///< median of this plan's product
  double reference_ms = 0.0;  ///< median of the reference's product, measured alternately
  /// Products after which set-up has paid; 0 for a plan without set-up, empty when it never pays.
  std::optional<std::int64_t> applications;
};

struct PlanInternals;

/// A kernel prepared for one matrix on one device. A moved-from plan may only be assigned to or destroyed. Immutable
/// except for update_values(). Products of one plan into distinct outputs may run concurrently.
template <class T>
class SpmvPlan final : public FusedOperator<T> {
 public:
  /// Takes ownership of the matrix. One on the host is copied to the device of the options, or streamed; the vectors of
  /// products must lie there as well. \throws NotSupported when options contradict each other (kernel and determinism,
  /// sigma and descriptor bits) and for a matrix whose rows do not repeat if `patterns` was named, for one that long
  /// rows hold if `sell` was, on a GPU, InvalidArgument for values out of range, OutOfMemory
  explicit SpmvPlan(Csr<T> matrix, const SpmvOptions& options = {});
  /// Shares the matrix with its owner; nothing is copied if it lies on the device of the options.
  explicit SpmvPlan(std::shared_ptr<const Csr<T>> matrix, const SpmvOptions& options = {});
  ~SpmvPlan() override;
  SpmvPlan(SpmvPlan&&) noexcept;
  SpmvPlan& operator=(SpmvPlan&&) noexcept;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override;
  [[nodiscard]] Device device() const override;
  [[nodiscard]] DualBuffer<T> make_output() const override;
  [[nodiscard]] bool has_transpose() const override;

  [[nodiscard]] const PlanInfo& info() const noexcept;
  /// The matrix as the next product will see it, on matrix_device(), updated values included.
  [[nodiscard]] CsrView<T> matrix() const noexcept;
  /// Where matrix() lies: device(), but the host for a matrix that is streamed to a GPU.
  [[nodiscard]] Device matrix_device() const;

  /// Replaces the values; structure and descriptors stay. The caller's matrix is never changed: the first update
  /// allocates a values array that the plan owns, and, made with_transpose, a map from A to Aᵀ; later ones reuse both.
  /// Not concurrent with products. Of `patterns`, values that no longer repeat are kept in full from then on, and
  /// of `sell` and `streamed` values that their layout cannot keep, which allocates. An update that throws changes
  /// nothing. Values on a GPU never visit the host, but for those of a streamed plan.
  /// \param values nnz entries in CSR order, on the host or on the plan's GPU
  /// \throws DimensionError for another length, InvalidArgument for a pattern matrix and for values on another GPU,
  /// InvalidMatrix for a value that fp32_values cannot keep, OutOfMemory
  void update_values(std::span<const T> values);

  /// The same, but checks the structure: a matrix whose offsets or columns differ from the planned ones is refused.
  /// They are compared where they lie, all three arrays on the host or on the plan's GPU.
  /// \throws InvalidMatrix naming the first difference; otherwise as above
  void update_values(const CsrView<T>& matrix);

  /// Offers apply_transposed() from now on, as a plan made with SpmvOptions::with_transpose does; nothing where it
  /// does already. May run concurrently with products and with itself, not with update_values(). Changes
  /// info().transpose. O(nnz). \throws OutOfMemory; NotSupported where a kernel chosen by name does not suit Aᵀ
  void prepare_transpose();

  /// Y = A X, column by column of a multivector (SpMM). The old Y is not read, so NaN in it does not matter.
  /// \param x cols() rows, on the plan's device
  /// \param y rows() rows and as many columns as X, on the plan's device; its memory does not overlap that of X, gaps
  /// between columns included
  /// \throws DimensionError for other sizes, InvalidArgument when X and Y overlap
  void apply_many(const MultiVectorView<const T>& x, const MultiVectorView<T>& y) const {
    apply_many(T{1}, x, T{0}, y);
  }

  /// Y = α A X + β Y. With β = 0 the old Y is not read; with α = 0 the product is not formed. The matrix is read once
  /// per eight columns, by every kernel (docs/spmm.md); one contiguous column is multiplied as by apply(). On the host
  /// it never allocates. On a GPU only the first product of a plan with several columns waits and allocates: a panel
  /// of X, cols() * 8 elements, and where shares begin; later ones do neither, and may be recorded into a graph. A
  /// streamed plan copies each slice once for all columns; its products cannot be recorded.
  /// O(columns * nnz). The determinism class is the plan's; the bits may differ from those of apply(). \throws
  /// OutOfMemory
  void apply_many(T alpha, const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) const;

  /// Times `repetitions` products of this plan and of the csr kernel in turn (1 to 1000, plus one warm-up each).
  /// \throws InvalidArgument for other numbers, OutOfMemory
  [[nodiscard]] BreakEven measure_break_even(int repetitions = 10) const;

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  ProductDots do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const override;
  /// For float, row by row with sums in double: a residual in float would drown in its own rounding.
  double do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const override;
  void do_apply_buffered(std::span<const T> x, DualBuffer<T>& out) const override;
  ProductDots do_apply_and_dot_buffered(std::span<const T> x, DualBuffer<T>& out, std::span<const T> w) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  [[nodiscard]] std::string_view transpose_remedy() const override;

 private:
  friend struct PlanInternals;  ///< of the library
  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued_product() const noexcept override;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class SpmvPlan<float>;
extern template class SpmvPlan<double>;

}  // namespace tessera
