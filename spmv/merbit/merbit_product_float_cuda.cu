/// \file
/// MERBIT's kernels for x in float, and for values in float with x in double.
#include "spmv/merbit/merbit_launch.cuh"

namespace tessera::cuda {

template MerbitProduct<float, float> merbit_product(MerbitLayout, HubStorage);
template MerbitProduct<float, Ones> merbit_product(MerbitLayout, HubStorage);
template MerbitProduct<double, float> merbit_product(MerbitLayout, HubStorage);

}  // namespace tessera::cuda
