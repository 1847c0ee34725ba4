#!/usr/bin/env bash
# Builds the CUDA sources and their tests with g++ against an emulator of blocks and warps (a fiber a thread): finds
# wrong indices, missing barriers and unwritten memory, but neither true races nor times. Needs a configured host build.
#
#   tests/emulator/build.sh OUTPUT_DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1
mkdir -p "$out/core/cuda" "$out/obj"
sed 's/  extern __shared__ __align__(128) unsigned char tessera_dynamic_shared_memory\[\];//; s/return tessera_dynamic_shared_memory;/return ::emu::dynamic_shared;/' \
  core/cuda/warp.cuh >"$out/core/cuda/warp.cuh"
flags="-std=c++20 -O1 -g1 -fno-strict-aliasing -fopenmp -I$out -Itests/emulator -I. -Iinclude -include emulator.hpp -w"
emulated=(core/cuda/vector_ops.cu preprocess/{merbit,snapped}_tiles_cuda.cu spmv/merbit/{gather_sample,merbit,product_float,product_double,product_mixed}_cuda.cu
  spmv/merbit/policy_cuda.cpp spmv/cuda/kernels.cpp tests/preprocess/tiles_cuda_test.cpp tests/spmv/merbit_cuda_test.cpp tests/emulator/emulator.cpp)
hosted=(core/{array,assemble,csr,device,error,host_memory,huge_pages,linear_operator,nearest,portable_math,timing}.cpp
  preprocess/{csr5_tiles,long_row_slices,merbit_tiles,transpose,statistics}.cpp spmv/*.cpp spmv/csr/*_host.cpp spmv/csr/csr.cpp
  spmv/csr5/csr5.cpp spmv/csr5/csr5_host.cpp spmv/merbit/merbit.cpp spmv/merbit/merbit_host.cpp spmv/merge/merge.cpp spmv/merge/merge_host.cpp)
for source in "${emulated[@]}"; do
  g++ $flags -x c++ -c "$source" -o "$out/obj/${source//\//_}.o"
done
for source in "${hosted[@]}"; do
  g++ -std=c++20 -O1 -fopenmp -I. -Iinclude -c "$source" -o "$out/obj/${source//\//_}.o"
done
g++ "$out"/obj/*.o -o "$out/emulated_test" -lgtest -lgtest_main -lfmt -lz -fopenmp -lpthread
