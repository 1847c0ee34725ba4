#include "spmv/merbit/product_launch.cuh"

namespace tessera::cuda {

template MerbitProduct<float, float> merbit_product(MerbitLayout);
template MerbitProduct<float, Ones> merbit_product(MerbitLayout);

}  // namespace tessera::cuda
