/// \file
/// Stands in for the header of the same name: asynchronous copies by the emulator.
#pragma once

#include "tests/emulator/bulk_copies.hpp"

namespace tessera::cuda {

template <class Element>
inline void begin_async_copy(const Element* from, Element* to) {
  static_assert(sizeof(Element) == emulator::copied_by_thread);
  emulator::start_copy_of_thread(to, from);
}
inline void wait_for_async_copies() { emulator::wait_for_copies_of_thread(); }

}  // namespace tessera::cuda
