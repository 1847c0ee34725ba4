/// \file
/// Products with panels of columns in float.
#include "spmv/multi_vector/panel_launch.cuh"

namespace tessera::cuda {

template std::unique_ptr<PanelProduct<float>> make_panel_product(const Device&, const CsrView<float>&,
                                                                 const PanelTuning&);
template void scale_columns(const Device&, float, const MultiVectorView<float>&);

}  // namespace tessera::cuda
