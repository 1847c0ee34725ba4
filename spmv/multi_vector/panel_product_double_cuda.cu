/// \file
/// Products with panels of columns in double.
#include "spmv/multi_vector/panel_launch.cuh"

namespace tessera::cuda {

template std::unique_ptr<PanelProduct<double>> make_panel_product(const Device&, const CsrView<double>&,
                                                                  const PanelTuning&);
template void scale_columns(const Device&, double, const MultiVectorView<double>&);

}  // namespace tessera::cuda
