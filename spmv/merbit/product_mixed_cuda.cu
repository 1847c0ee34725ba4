#include "spmv/merbit/product_launch.cuh"

namespace tessera::cuda {

template MerbitProduct<double, float> merbit_product(MerbitLayout);

}  // namespace tessera::cuda
