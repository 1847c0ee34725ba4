// The fuzzer of all readers. libFuzzer ignores arguments that begin with "--":
//
//   fuzz_readers --target=matrix|vector|binary|gzip|edges|boeing|numpy|matlab|petsc|amgx CORPUS...
//   [-max_total_time=SECONDS ...]
#include "tests/fuzz/fuzzing.hpp"

#include <cstdint>

namespace tessera::fuzzing {
namespace {

using Target = void (*)(std::string_view bytes);

Target find_target(std::string_view name) {
  if (name == "matrix") return fuzz_matrix;
  if (name == "vector") return fuzz_vector;
  if (name == "binary") return fuzz_binary;
  if (name == "gzip") return fuzz_gzip;
  if (name == "edges") return fuzz_edges;
  if (name == "boeing") return fuzz_boeing;
  if (name == "numpy") return fuzz_numpy;
  if (name == "matlab") return fuzz_matlab;
  if (name == "petsc") return fuzz_petsc;
  if (name == "amgx") return fuzz_amgx;
  return nullptr;
}

Target target = nullptr;

}  // namespace
}  // namespace tessera::fuzzing

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view option = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.starts_with(option)) {
      tessera::fuzzing::target = tessera::fuzzing::find_target(argument.substr(option.size()));
    }
  }
  if (tessera::fuzzing::target != nullptr) return 0;
  std::fprintf(stderr, "fuzz_readers: expected --target= and one of those that find_target() knows\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::fuzzing::target({reinterpret_cast<const char*>(data), size});
  return 0;
}
