/// \file
/// MERBIT's kernels for values and x in double.
#include "spmv/merbit/merbit_launch.cuh"

namespace tessera::cuda {

template MerbitProduct<double, double> merbit_product(MerbitLayout, HubStorage);
template MerbitProduct<double, Ones> merbit_product(MerbitLayout, HubStorage);

}  // namespace tessera::cuda
