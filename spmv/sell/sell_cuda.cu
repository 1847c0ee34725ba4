/// \file
/// Sliced ELL on a GPU: choice of the layout, products with inner products, new values.
#include "core/cuda/vector_ops.hpp"
#include "spmv/common/block_dots.hpp"
#include "spmv/common/dot_parts_kernel.hpp"
#include "spmv/sell/sell.hpp"
#include "spmv/sell/sell_launch.cuh"
#include "tessera/error.hpp"

#include <type_traits>
#include <utility>

namespace tessera::cuda {

using namespace detail;

extern template void enqueue_sell_product_by(const Context&, const SellOperand<float>&, const AbsoluteColumns&,
                                             const CsrView<float>&, float, std::span<const float>, float,
                                             std::span<float>, std::span<const float>, ProductDots*);
extern template void enqueue_sell_product_by(const Context&, const SellOperand<float>&, const RelativeColumns&,
                                             const CsrView<float>&, float, std::span<const float>, float,
                                             std::span<float>, std::span<const float>, ProductDots*);
extern template void enqueue_sell_product_by(const Context&, const SellOperand<double>&, const AbsoluteColumns&,
                                             const CsrView<double>&, double, std::span<const double>, double,
                                             std::span<double>, std::span<const double>, ProductDots*);
extern template void enqueue_sell_product_by(const Context&, const SellOperand<double>&, const RelativeColumns&,
                                             const CsrView<double>&, double, std::span<const double>, double,
                                             std::span<double>, std::span<const double>, ProductDots*);

template <class T>
void enqueue_sell_product(const Context& context, const SellOperand<T>& operand, const CsrView<T>& a, T alpha,
                          std::span<const T> x, T beta, std::span<T> y, std::span<const T> w, ProductDots* of_block) {
  if (operand.relative_columns != nullptr) {
    enqueue_sell_product_by(context, operand, RelativeColumns{operand.relative_columns}, a, alpha, x, beta, y, w,
                            of_block);
  } else {
    enqueue_sell_product_by(context, operand, AbsoluteColumns{operand.columns}, a, alpha, x, beta, y, w, of_block);
  }
}

namespace {

/// Values by slices, in the fewest bytes that keep every bit.
template <class T>
class SellValueStore {
 public:
  explicit SellValueStore(const Device& device) : device_(device) {}

  /// \param values nnz, on the device \throws OutOfMemory, CudaError
  void set_up(const SellSlices& slices, std::span<const T> values) {
    kind_ = SellValues::coded;
    update(slices, values);
  }

  /// New values in the layout of the old ones; in a larger one where they do not fit it. \throws OutOfMemory, CudaError
  void update(const SellSlices& slices, std::span<const T> values) {
    if (kind_ == SellValues::coded && keep_codes(slices, values)) return;
    if (kind_ != SellValues::full && keep_floats(slices, values)) return;
    kind_ = SellValues::full;
    codes_ = Array<std::uint8_t>();
    dictionary_ = ValueDictionary<T>();
    floats_ = Array<float>();
    allocate(slices, values_);
    fill_sell_values<T, T>(device_, slices, values, values_.span());
  }

  [[nodiscard]] SellValues kind() const noexcept { return kind_; }
  [[nodiscard]] int distinct() const noexcept { return dictionary_.count(); }
  /// Read by a product.
  [[nodiscard]] std::uint64_t entry_bytes() const noexcept {
    return values_.bytes() + floats_.bytes() + codes_.bytes();
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return entry_bytes() + dictionary_.bytes(); }

  void show(SellOperand<T>& operand) const noexcept {
    operand.values = values_.data();
    operand.floats = floats_.empty() ? nullptr : floats_.data();
    operand.codes = codes_.empty() ? nullptr : codes_.data();
    operand.dictionary = dictionary_.values.data();
    operand.dictionary_count = dictionary_.count();
  }

 private:
  template <class E>
  void allocate(const SellSlices& slices, Array<E>& to) {
    if (to.empty()) to = Array<E>(slices.shape.places, Init::none, device_);
  }
  bool keep_codes(const SellSlices& slices, std::span<const T> values) {
    auto found = find_value_dictionary<T>(device_, values);
    if (!found) return false;
    allocate(slices, codes_);
    dictionary_ = *std::move(found);
    fill_sell_codes<T>(device_, slices, values, dictionary_, codes_.span());
    return true;
  }
  bool keep_floats(const SellSlices& slices, std::span<const T> values) {
    if constexpr (std::is_same_v<T, double>) {
      if (!are_floats(device_, values)) return false;
      codes_ = Array<std::uint8_t>();
      dictionary_ = ValueDictionary<T>();
      kind_ = SellValues::rounded;
      allocate(slices, floats_);
      fill_sell_values<T, float>(device_, slices, values, floats_.span());
      return true;
    } else {
      static_cast<void>(slices);
      static_cast<void>(values);
      return false;
    }
  }

  Device device_;
  SellValues kind_ = SellValues::none;
  Array<T> values_;
  Array<float> floats_;
  Array<std::uint8_t> codes_;
  ValueDictionary<T> dictionary_;
};

template <class T>
class SellCudaKernel final : public DotPartsKernel<T> {
 public:
  /// \param promised by a sample; null: whatever the matrix allows \throws NotSupported where it is not kept
  SellCudaKernel(const CsrView<T>& a, const SpmvOptions& options, const SellLayout* promised)
      : DotPartsKernel<T>(options.device),
        device_(options.device),
        nnz_(a.nnz()),
        is_pattern_(a.is_pattern()),
        values_(options.device) {
    census_ = take_sell_census(device_, a.row_offsets, a.columns);
    require_few_long_rows(census_.long_rows, nnz_);
    if (promised != nullptr && promised->columns == SellColumns::relative && !census_.relative) refuse_promise();
    slices_ = make_sell_slices(device_, a.row_offsets, census_,
                               choose_sell_shape(a.rows, census_, Context::of(device_).multiprocessors()));
    if (a.rows == 0) return;
    set_up_columns(a);
    if (!is_pattern_) values_.set_up(slices_, a.values);
    if (promised != nullptr && !is_pattern_ && values_.kind() != promised->values) refuse_promise();
    dots_ = BlockDots(sell_blocks(operand()), device_);
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const DeviceGuard current(device_);
    enqueue_sell_product<T>(Context::of(device_), operand(), a, alpha, x, beta, y, {}, nullptr);
  }

  /// Values that the layout cannot keep take a larger one. Without memory for that, all rows are read from CSR.
  void update_values(std::span<const T> values) override {
    if (reads_csr_ || slices_.rows == 0) return;
    try {
      values_.update(slices_, values);
    } catch (const OutOfMemory&) {
      reads_csr_ = true;
    }
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    const std::uint64_t of_columns = columns_.bytes() + relative_columns_.bytes();
    info.bytes = slices_.bytes() + of_columns + values_.bytes() + dots_.bytes();
    const SellLayout layout{relative_ ? SellColumns::relative : SellColumns::absolute,
                            is_pattern_ ? SellValues::none : values_.kind()};
    const auto bytes =
        static_cast<double>(of_columns + values_.entry_bytes() + slices_.begin.bytes() + slices_.order.bytes());
    SellPadding padding{slices_.shape.window_rows};
    if (census_.nonzeros > 0) {
      const auto nonzeros = static_cast<double>(census_.nonzeros);
      padding.places_per_nonzero = static_cast<double>(slices_.shape.places) / nonzeros;
      padding.among_neighbours = static_cast<double>(census_.neighbour_places(slices_.shape.rows_per_lane)) / nonzeros;
    }
    info.reason += describe_sell(layout, values_.distinct(), padding, slices_.long_rows.size(),
                                 nnz_ > 0 ? bytes / static_cast<double>(nnz_) : 0.0);
  }

 private:
  [[noreturn]] static void refuse_promise() {
    throw NotSupported("kernel sell: the matrix takes more bytes than a sample of it promised");
  }
  void set_up_columns(const CsrView<T>& a) {
    relative_ = census_.relative;
    const std::int64_t places = slices_.shape.places;
    if (relative_) {
      relative_columns_ = Array<std::uint16_t>(places, Init::none, device_);
      fill_sell_columns(device_, slices_, a.columns, relative_columns_.span());
    } else {
      columns_ = Array<index_t>(places, Init::none, device_);
      fill_sell_columns(device_, slices_, a.columns, columns_.span());
    }
  }

  [[nodiscard]] SellOperand<T> operand() const {
    SellOperand<T> result;
    result.rows = slices_.rows;
    result.shape = slices_.shape;
    if (reads_csr_) {
      result.long_count = slices_.rows;
      return result;
    }
    result.begin = slices_.begin.empty() ? nullptr : slices_.begin.data();
    result.order = slices_.order.data();
    if (!slices_.long_bits.empty()) result.long_bits = slices_.long_bits.data();
    result.long_rows = slices_.long_rows.data();
    result.long_count = slices_.long_rows.size();
    result.mean = static_cast<double>(nnz_) / static_cast<double>(slices_.rows);
    result.columns = columns_.data();
    result.relative_columns = relative_columns_.empty() ? nullptr : relative_columns_.data();
    values_.show(result);
    return result;
  }

  [[nodiscard]] bool leaves_parts() const override { return !reads_csr_; }
  [[nodiscard]] ProductDots* total() const override { return dots_.total(); }
  std::span<const ProductDots> launch_with_parts(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                                                 std::span<const T> w) const override {
    const Context& context = Context::of(device_);
    const DeviceGuard current(device_);
    const SellOperand<T> own = operand();
    enqueue_sell_product<T>(context, own, a, T{1}, x, T{0}, y, w, dots_.of_blocks());
    return dots_.enqueue_parts(context, sell_blocks(own));
  }

  Device device_;
  offset_t nnz_;
  bool is_pattern_;
  bool relative_ = false;
  bool reads_csr_ = false;  ///< there was no memory for new values
  SellCensus census_;
  SellSlices slices_;
  Array<index_t> columns_;  ///< by slices; one of these two
  Array<std::uint16_t> relative_columns_;
  SellValueStore<T> values_;  ///< empty for pattern matrices
  mutable BlockDots dots_;
};

}  // namespace

template std::int64_t sell_blocks(const SellOperand<float>&) noexcept;
template std::int64_t sell_blocks(const SellOperand<double>&) noexcept;

template <class T>
std::unique_ptr<SpmvKernel<T>> make_sell_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  return std::make_unique<SellCudaKernel<T>>(on_device, options, nullptr);
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_promised_sell_kernel(const CsrView<T>& on_device, const SpmvOptions& options,
                                                         const SellLayout& promised) {
  return std::make_unique<SellCudaKernel<T>>(on_device, options, &promised);
}

template std::unique_ptr<SpmvKernel<float>> make_promised_sell_kernel(const CsrView<float>&, const SpmvOptions&,
                                                                      const SellLayout&);
template std::unique_ptr<SpmvKernel<double>> make_promised_sell_kernel(const CsrView<double>&, const SpmvOptions&,
                                                                       const SellLayout&);
template std::unique_ptr<SpmvKernel<float>> make_sell_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_sell_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
