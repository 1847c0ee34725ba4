/// \file
/// Row patterns on a GPU: products with inner products, new values.
#include "core/cuda/reduce.cuh"
#include "core/cuda/vector_ops.hpp"
#include "spmv/common/block_dots.hpp"
#include "spmv/common/dot_parts_kernel.hpp"
#include "spmv/multi_vector/csr_product.hpp"
#include "spmv/patterns/pattern_panels.hpp"
#include "spmv/patterns/pattern_product.hpp"
#include "spmv/patterns/pattern_ranks.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/patterns/template_cg.hpp"
#include "spmv/patterns/value_store.hpp"
#include "tessera/error.hpp"

#include <type_traits>
#include <utility>

namespace tessera::cuda {

using namespace detail;

namespace {

template <class T>
class PatternsCudaKernel final : public DotPartsKernel<T> {
 public:
  PatternsCudaKernel(const CsrView<T>& a, const SpmvOptions& options)
      : DotPartsKernel<T>(options.device),
        device_(options.device),
        nnz_(a.nnz()),
        is_pattern_(a.is_pattern()),
        found_(find_row_patterns(a, options.device)),
        values_(options.device, options.fp32_values && std::is_same_v<T, double>) {
    if (found_.longest_exception > longest_exception) refuse_exception(found_.longest_exception);
    exceptions_ = found_.exceptions.size();
    shape_ = choose_pattern_slices(a.rows, nnz_, found_.width, needs_values());
    found_.codes = arrange_codes(device_, found_.codes, shape_, found_.lists);
    rows_ = a.rows;
    cols_ = a.cols;
    if (!is_pattern_) set_up_begins(a.row_offsets);
    if (needs_values()) values_.set_up(sliced_rows(), a);
    if (!needs_values()) uniform_ = UniformRows<T>(device_, found_, shape_, rows_, cols_, {});
    // A half that comes later, behind a dictionary, stays at the table.
    if (const Array<index_t>* places = values_.half_places(); places != nullptr && shape_.rows_per_lane > 1) {
      uniform_ = UniformRows<T>(device_, found_, shape_, rows_, cols_, *places);
    }
    if (a.rows == 0) return;
    dots_ = BlockDots(most_pattern_blocks(operand()), device_);
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const DeviceGuard current(device_);
    enqueue_pattern_product<T>(Context::of(device_), operand(), a, alpha, x, beta, y, {}, nullptr);
  }

  bool apply_many(const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                  const MultiVectorView<T>& y) const override {
    const PatternOperand<T> own = operand();
    if (reads_csr_ || !suits_panels(own) || is_one_vector(x, y)) return false;
    const DeviceGuard current(device_);
    enqueue_pattern_panels<T>(Context::of(device_), own, a, alpha, x, beta, y);
    return true;
  }

  std::unique_ptr<RankProduct<T>> make_rank_product(const CsrView<T>& a, int vectors) const override {
    if (!is_pattern_) return nullptr;
    return make_pattern_rank_product(device_, operand(), a, vectors);
  }

  /// Templates that no longer hold become row patterns with values of their own, and a layout of values that no longer
  /// holds gives way to a larger one. Without memory for that, all rows are read from CSR.
  void update_values(std::span<const T> values) override {
    if (found_.kind == RowListKind::columns_and_values) {
      if (templates_hold<T>(device_, sliced_rows(), values, found_.values.data())) return;
      found_.kind = RowListKind::columns;
      found_.values = Array<T>();
    }
    if (reads_csr_ || !needs_values()) return;
    try {
      values_.update(sliced_rows(), values);
    } catch (const OutOfMemory&) {
      reads_csr_ = true;
    }
  }

  std::unique_ptr<CgProduct<T>> make_cg_product(const CsrView<T>& /*a*/, bool of_rank) const override {
    PatternOperand<T> own = operand();
    own.uniform = uniform_.list_for_cg();
    return suits_cg_product(own, of_rank) ? make_template_cg_product(device_, own) : nullptr;
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    info.bytes = found_.table.bytes() + found_.values.bytes() + found_.codes.bytes() + found_.exceptions.bytes() +
                 values_.bytes() + uniform_.bytes() + begin_.bytes() + exception_lengths_.bytes() + dots_.bytes();
    const double bytes = static_cast<double>(found_.codes.bytes() + values_.bytes_read());
    info.reason += describe_row_patterns(found_.kind, found_.lists, exceptions_, values_.describe(),
                                         nnz_ > 0 ? bytes / static_cast<double>(nnz_) : 0.0);
  }

 private:
  [[nodiscard]] bool needs_values() const {
    return !is_pattern_ && found_.kind == RowListKind::columns && found_.width > 0;
  }
  void set_up_begins(std::span<const offset_t> row_offsets) {
    begin_ = slice_begins(device_, row_offsets, shape_);
    exception_lengths_ = lengths_of(device_, row_offsets, found_.exceptions);
  }
  [[nodiscard]] SlicedRows sliced_rows() const {
    return {rows_,
            found_.width,
            found_.lists,
            shape_,
            found_.table.data(),
            found_.codes.data(),
            begin_.data(),
            found_.exceptions.data(),
            exception_lengths_.data(),
            exceptions_};
  }
  [[nodiscard]] PatternOperand<T> operand() const {
    PatternOperand<T> result;
    if (reads_csr_) {
      result.exception_count = rows_;
      return result;
    }
    result.rows = rows_;
    result.cols = cols_;
    result.multiprocessors = Context::of(device_).multiprocessors();
    result.lists = found_.lists;
    result.width = found_.width;
    result.shape = shape_;
    result.table = found_.table.data();
    result.codes = found_.codes.data();
    result.exceptions = found_.exceptions.data();
    result.exception_count = exceptions_;
    result.list_values = found_.values.data();
    result.begin = begin_.data();
    values_.show(result);
    if (!needs_values() || values_.half_places() != nullptr) result.uniform = uniform_.list();
    return result;
  }

  [[nodiscard]] bool leaves_parts() const override { return !reads_csr_; }
  [[nodiscard]] ProductDots* total() const override { return dots_.total(); }
  std::span<const ProductDots> launch_with_parts(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                                                 std::span<const T> w) const override {
    const Context& context = Context::of(device_);
    const DeviceGuard current(device_);
    const PatternOperand<T> own = operand();
    enqueue_pattern_product<T>(context, own, a, T{1}, x, T{0}, y, w, dots_.of_blocks());
    return dots_.enqueue_parts(context, pattern_blocks(own));
  }

  Device device_;
  index_t rows_ = 0;
  index_t cols_ = 0;
  offset_t nnz_;
  bool is_pattern_;
  RowPatterns<T> found_;
  SliceShape shape_;
  UniformRows<T> uniform_;  ///< of templates, pattern matrices and symmetric halves
  std::int64_t exceptions_ = 0;
  bool reads_csr_ = false;            ///< there was no memory for new values
  ValueStore<T> values_;              ///< empty for templates and pattern matrices
  Array<offset_t> begin_;             ///< of 32 rows each, in CSR; none for pattern matrices
  Array<index_t> exception_lengths_;  ///< the same
  mutable BlockDots dots_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_patterns_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  return std::make_unique<PatternsCudaKernel<T>>(on_device, options);
}

template std::unique_ptr<SpmvKernel<float>> make_patterns_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_patterns_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
