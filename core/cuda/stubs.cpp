// Stands in for the CUDA backend of core/ in a build without it.
#include "core/cuda/device_query.hpp"
#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "core/cuda/stream_work.hpp"
#include "core/cuda/vector_ops.hpp"
#include "core/row_slice.hpp"
#include "core/structure_passes.hpp"
#include "core/value_passes.hpp"
#include "tessera/error.hpp"

#include <cstdint>

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no work for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

CudaSurvey survey(int /*ordinal*/) {
  CudaSurvey result;
  result.problem = "this build has no CUDA backend (no nvcc was found, or TESSERA_CUDA=OFF)";
  return result;
}

void* allocate_bytes(const Device& device, std::uint64_t /*bytes*/) { refuse(device); }
void deallocate_bytes(const Device& /*device*/, void* /*data*/, std::uint64_t /*bytes*/) noexcept {}
void zero_bytes(const Device& device, void* /*data*/, std::uint64_t /*bytes*/) { refuse(device); }
void copy_bytes(const Device& to, void* /*target*/, const Device& from, const void* /*source*/,
                std::uint64_t /*bytes*/) {
  refuse(to.is_host() ? from : to);
}
void copy_from_peer(const Device& to, void* /*target*/, int /*ordinal*/, const void* /*source*/,
                    std::uint64_t /*bytes*/) {
  refuse(to);
}

std::uint64_t available_bytes(const Device& device) { refuse(device); }

bool is_reachable(const Device& device, const void* /*address*/) { refuse(device); }

bool lies_on_a_gpu(const void* /*address*/) { return false; }

Device make_context(const Device& device, ContextOptions&& /*options*/) { refuse(device); }
CUstream_st* stream_of(const Device& device) { refuse(device); }
ContextCounts counts_of(const Device& device) { refuse(device); }

void order(const Device& earlier, const Device& /*later*/) { refuse(earlier); }

void synchronize(const Device& device) { refuse(device); }

void work_in_stream(const Device& device, const std::function<void(CUstream_st* stream)>& /*work*/) { refuse(device); }

offset_t exclusive_sum(const Device& device, std::span<offset_t> /*counts*/, PrimitiveBy /*by*/) { refuse(device); }

void rebase_offsets(const Device& device, std::span<const offset_t> /*from*/, std::span<offset_t> /*to*/) {
  refuse(device);
}

bool structure_is_sound(const Device& device, const detail::StructureArrays& /*arrays*/) { refuse(device); }
std::int64_t narrow_columns(const Device& device, std::span<const std::int64_t> /*from*/, std::int64_t /*cols*/,
                            std::span<index_t> /*to*/) {
  refuse(device);
}
template <class U>
std::int64_t first_difference(const Device& device, std::span<const U> /*a*/, std::span<const U> /*b*/) {
  refuse(device);
}
template std::int64_t first_difference(const Device&, std::span<const index_t>, std::span<const index_t>);
template std::int64_t first_difference(const Device&, std::span<const offset_t>, std::span<const offset_t>);

TimingClock event_clock(const Device& device) { refuse(device); }

template <class T>
void scale(const Device& device, T /*beta*/, std::span<T> /*y*/) {
  refuse(device);
}
template <class T>
void combine(const Device& device, T /*alpha*/, std::span<const T> /*x*/, T /*beta*/, std::span<T> /*y*/) {
  refuse(device);
}
template <class T>
ProductDots dots(const Device& device, std::span<const T> /*y*/, std::span<const T> /*w*/) {
  refuse(device);
}
template <class T>
void enqueue_dots(const Device& device, std::span<const T> /*y*/, std::span<const T> /*w*/, ProductDots* /*sums*/) {
  refuse(device);
}
template <class T>
double subtract_from(const Device& device, int /*exponent*/, std::span<const T> /*b*/, std::span<T> /*r*/) {
  refuse(device);
}

void round_to_float(const Device& device, std::span<double> /*values*/) { refuse(device); }
std::int64_t first_beyond_float(const Device& device, std::span<const double> /*values*/) { refuse(device); }

template <class From, class To>
void convert_values(const Device& device, std::span<const From> /*from*/, std::span<To> /*to*/) {
  refuse(device);
}
template <class T>
void gather_values(const Device& device, std::span<const index_t> /*positions*/, std::span<const T> /*from*/,
                   std::span<T> /*to*/) {
  refuse(device);
}
template <class T>
void gather_and_add(const Device& device, std::span<const index_t> /*positions*/, std::span<const T> /*from*/,
                    T /*beta*/, std::span<T> /*to*/) {
  refuse(device);
}

template void convert_values(const Device&, std::span<const float>, std::span<float>);
template void convert_values(const Device&, std::span<const float>, std::span<double>);
template void convert_values(const Device&, std::span<const double>, std::span<float>);
template void convert_values(const Device&, std::span<const double>, std::span<double>);
template void convert_values(const Device&, std::span<const std::int32_t>, std::span<std::int64_t>);
template void gather_values(const Device&, std::span<const index_t>, std::span<const index_t>, std::span<index_t>);
template void gather_values(const Device&, std::span<const index_t>, std::span<const float>, std::span<float>);
template void gather_values(const Device&, std::span<const index_t>, std::span<const double>, std::span<double>);
template void gather_and_add(const Device&, std::span<const index_t>, std::span<const float>, float, std::span<float>);
template void gather_and_add(const Device&, std::span<const index_t>, std::span<const double>, double,
                             std::span<double>);
template void scale(const Device&, float, std::span<float>);
template void combine(const Device&, float, std::span<const float>, float, std::span<float>);
template ProductDots dots(const Device&, std::span<const float>, std::span<const float>);
template void enqueue_dots(const Device&, std::span<const float>, std::span<const float>, ProductDots*);
template double subtract_from(const Device&, int, std::span<const float>, std::span<float>);
template void scale(const Device&, double, std::span<double>);
template void combine(const Device&, double, std::span<const double>, double, std::span<double>);
template ProductDots dots(const Device&, std::span<const double>, std::span<const double>);
template void enqueue_dots(const Device&, std::span<const double>, std::span<const double>, ProductDots*);
template double subtract_from(const Device&, int, std::span<const double>, std::span<double>);

}  // namespace tessera::cuda
