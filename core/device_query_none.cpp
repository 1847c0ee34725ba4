#include "core/device_query.hpp"

namespace tessera::cuda {

CudaSurvey survey() {
  CudaSurvey result;
  result.problem = "this build has no CUDA backend (no nvcc was found, or TESSERA_CUDA=OFF)";
  return result;
}

}  // namespace tessera::cuda
