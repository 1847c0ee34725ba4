/// \file
/// Two-kernel CG by row templates: launches.
#include "spmv/patterns/template_cg.hpp"

#include "core/grain.hpp"
#include "spmv/patterns/pattern_launch.cuh"
#include "spmv/patterns/template_cg.cuh"

namespace tessera::cuda {

using namespace detail;

namespace {

template <class T>
class TemplateCgProduct final : public CgProduct<T> {
 public:
  TemplateCgProduct(const Device& device, const PatternOperand<T>& operand)
      : device_(device),
        rows_(pattern_rows(operand)),
        values_(operand.list_values),
        list_(*operand.uniform),
        grid_{list_.order.blocks(rows_.slices), pattern_threads},
        of_block_(grid_.blocks, Init::none, device) {}

  std::span<const CgSums> enqueue_direction(const CgVectors<T>& vectors, const CgScalars* scalars,
                                            const std::int32_t* halted) override {
    if (vectors.diagonal != nullptr) return enqueue<DirectionStep<true, T>>(vectors, scalars, halted);
    return enqueue<DirectionStep<false, T>>(vectors, scalars, halted);
  }
  std::span<const CgSums> enqueue_residual(const CgVectors<T>& vectors, const CgScalars* scalars,
                                           const std::int32_t* halted) override {
    if (vectors.diagonal != nullptr) return enqueue<ResidualStep<true, T>>(vectors, scalars, halted);
    return enqueue<ResidualStep<false, T>>(vectors, scalars, halted);
  }

 private:
  template <class Step>
  std::span<const CgSums> enqueue(const CgVectors<T>& vectors, const CgScalars* scalars, const std::int32_t* halted) {
    const DeviceGuard current(device_);
    const auto with = [&](auto chunk) {
      launch("product of two-kernel CG", Context::of(device_), grid_, template_cg_kernel<decltype(chunk), Step, T>,
             rows_, values_, list_, vectors, scalars, halted, of_block_.data());
    };
    // Widths that agree on the rows of a lane share a kernel, but those of 7 points on grids have their own.
    if (rows_.width <= 5) {
      with(PatternChunk<5, false, false>{});
    } else if (rows_.width <= 7) {
      with(PatternChunk<7, false, false>{});
    } else {
      with(PatternChunk<most_terms_of_cg_product, false, false>{});
    }
    return of_block_.span();
  }

  Device device_;
  PatternRows rows_;
  const T* values_;
  RowStencil<T> list_;
  Grid grid_;
  Array<CgSums> of_block_;
};
static_assert(pattern_rows_per_lane(1) == pattern_rows_per_lane(5));
static_assert(pattern_rows_per_lane(6) == pattern_rows_per_lane(most_terms_of_cg_product));

}  // namespace

template <class T>
bool suits_cg_product(const PatternOperand<T>& operand, bool of_rank) noexcept {
  return operand.list_values != nullptr && operand.uniform != nullptr && operand.exception_count == 0 &&
         operand.width <= most_terms_of_cg_product &&
         (of_rank || operand.rows >= host::grain(least_rows_of_cg_product));
}

template <class T>
std::unique_ptr<CgProduct<T>> make_template_cg_product(const Device& device, const PatternOperand<T>& operand) {
  return std::make_unique<TemplateCgProduct<T>>(device, operand);
}

template bool suits_cg_product(const PatternOperand<float>&, bool) noexcept;
template bool suits_cg_product(const PatternOperand<double>&, bool) noexcept;
template std::unique_ptr<CgProduct<float>> make_template_cg_product(const Device&, const PatternOperand<float>&);
template std::unique_ptr<CgProduct<double>> make_template_cg_product(const Device&, const PatternOperand<double>&);

}  // namespace tessera::cuda
