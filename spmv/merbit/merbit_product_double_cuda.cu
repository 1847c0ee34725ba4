/// \file
/// MERBIT's kernels for values and x in double.
#include "spmv/merbit/merbit_launch.cuh"

namespace tessera::cuda {

template MerbitProduct<double, double> merbit_product(MerbitLayout, HubUse);
template MerbitProduct<double, Ones> merbit_product(MerbitLayout, HubUse);

}  // namespace tessera::cuda
