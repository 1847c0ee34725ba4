// Devices and owners of arrays from Python.
#include "arrays.hpp"

#include "tessera/error.hpp"

namespace tessera::python {

Device device_of(int type, int ordinal) {
  if (type == nb::device::cpu::value) return Device{};
  // Managed memory and pinned memory are read by a GPU as its own.
  if (type == nb::device::cuda::value || type == nb::device::cuda_managed::value) return Device::cuda(ordinal);
  throw NotSupported("an array on a device of DLPack type " + std::to_string(type) +
                     ": arrays lie on the host or on a CUDA device");
}

void require_device(const char* name, int type, int ordinal, const Device& wanted) {
  const Device device = device_of(type, ordinal);
  if (device == wanted) return;
  throw InvalidArgument(std::string(name) + " lies on " + device.name() + ", the matrix on " + wanted.name());
}

}  // namespace tessera::python
