/// \file
/// Stands in for the CUDA sources in a build without CUDA.
#include "spmv/blocked/blocked.hpp"
#include "spmv/blocked/blocked_tuning.hpp"
#include "spmv/csr_vector/row_lengths.hpp"
#include "spmv/matrix_hash.hpp"
#include "spmv/merbit/merbit_plan.hpp"
#include "spmv/multi_vector/panel_product.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/prediction/device_figures.hpp"
#include "spmv/prediction/matrix_sample.hpp"
#include "spmv/registry.hpp"
#include "spmv/residual/residual.hpp"
#include "spmv/sell/sell.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no work for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

detail::SpmvBackend detail::cuda_backend(SpmvAlgorithm /*algorithm*/) { return {}; }

namespace cuda {

double row_length_spread(const Device& device, std::span<const offset_t> /*row_offsets*/) { refuse(device); }

template <class T>
detail::HashSum sum_hash_terms(const Device& device, const detail::HashTerms<T>& /*terms*/, std::int64_t /*rows*/,
                               std::int64_t /*nnz*/) {
  refuse(device);
}
template detail::HashSum sum_hash_terms(const Device&, const detail::HashTerms<float>&, std::int64_t, std::int64_t);
template detail::HashSum sum_hash_terms(const Device&, const detail::HashTerms<double>&, std::int64_t, std::int64_t);

RowLengths row_lengths(const Device& device, std::span<const offset_t> /*row_offsets*/) { refuse(device); }

detail::GpuAttributes gpu_attributes(int ordinal) {
  throw DeviceUnavailable(fmt::format("no figures of cuda:{}: this build has no CUDA backend", ordinal));
}

DeviceFigures measure_figures(const Device& device, const detail::CalibrationSizes& /*sizes*/) { refuse(device); }

void copy_sample(std::span<const offset_t> /*row_offsets*/, std::span<const index_t> /*columns*/, const Device& device,
                 detail::MatrixSample& /*sample*/) {
  refuse(device);
}

WholeProduct whole_product(const Device& device, std::span<const offset_t> /*row_offsets*/) { refuse(device); }

template <class T>
BlockedForecast forecast_blocked(const CsrView<T>& /*on_device*/, const Device& device) {
  refuse(device);
}
template BlockedForecast forecast_blocked(const CsrView<float>&, const Device&);
template BlockedForecast forecast_blocked(const CsrView<double>&, const Device&);

template <class T>
HubForecast forecast_hubs(const CsrView<T>& /*on_device*/, const SpmvOptions& options) {
  refuse(options.device);
}
template HubForecast forecast_hubs(const CsrView<float>&, const SpmvOptions&);
template HubForecast forecast_hubs(const CsrView<double>&, const SpmvOptions&);

template <class T>
detail::RowListEstimate estimate_row_lists(const CsrView<T>& /*on_device*/, const Device& device) {
  refuse(device);
}
template detail::RowListEstimate estimate_row_lists(const CsrView<float>&, const Device&);
template detail::RowListEstimate estimate_row_lists(const CsrView<double>&, const Device&);

template <class T>
detail::SellSample sample_for_sell(const CsrView<T>& /*on_device*/, const Device& device) {
  refuse(device);
}
template detail::SellSample sample_for_sell(const CsrView<float>&, const Device&);
template detail::SellSample sample_for_sell(const CsrView<double>&, const Device&);

template <class T>
std::unique_ptr<detail::SpmvKernel<T>> make_promised_sell_kernel(const CsrView<T>& /*on_device*/,
                                                                 const SpmvOptions& options,
                                                                 const detail::SellLayout& /*promised*/) {
  refuse(options.device);
}
template std::unique_ptr<detail::SpmvKernel<float>> make_promised_sell_kernel(const CsrView<float>&, const SpmvOptions&,
                                                                              const detail::SellLayout&);
template std::unique_ptr<detail::SpmvKernel<double>> make_promised_sell_kernel(const CsrView<double>&,
                                                                               const SpmvOptions&,
                                                                               const detail::SellLayout&);

template <class T>
double promised_value_bytes(const CsrView<T>& /*on_device*/, const Device& device) {
  refuse(device);
}
template double promised_value_bytes(const CsrView<float>&, const Device&);
template double promised_value_bytes(const CsrView<double>&, const Device&);

double csr_residual(const Device& device, const CsrView<float>& /*a*/, int /*exponent*/, std::span<const float> /*b*/,
                    std::span<const float> /*x*/, std::span<float> /*r*/) {
  refuse(device);
}

template <class T>
std::unique_ptr<PanelProduct<T>> make_panel_product(const Device& device, const CsrView<T>& /*a*/,
                                                    const PanelTuning& /*tuning*/) {
  refuse(device);
}
template std::unique_ptr<PanelProduct<float>> make_panel_product(const Device&, const CsrView<float>&,
                                                                 const PanelTuning&);
template std::unique_ptr<PanelProduct<double>> make_panel_product(const Device&, const CsrView<double>&,
                                                                  const PanelTuning&);

template <class T>
void scale_columns(const Device& device, T /*beta*/, const MultiVectorView<T>& /*y*/) {
  refuse(device);
}
template void scale_columns(const Device&, float, const MultiVectorView<float>&);
template void scale_columns(const Device&, double, const MultiVectorView<double>&);

}  // namespace cuda
}  // namespace tessera
