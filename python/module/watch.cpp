// Callbacks and signals during a solve.
#include "watch.hpp"

namespace tessera::python {

namespace nb = nanobind;

Control Watch::operator()(const IterationInfo& info) {
  if (is_cancelled_.load()) return Control::stop;
  constexpr auto between_looks = std::chrono::milliseconds(20);
  const Clock::time_point now = Clock::now();
  const bool look = now >= next_look_;
  if (!look && callback_.is_none()) return Control::proceed;
  const nb::gil_scoped_acquire lock;
  if (look) {
    next_look_ = now + between_looks;
    raise_signals();
  }
  if (callback_.is_none()) return Control::proceed;
  const nb::object answer = callback_(info);
  const int stop = PyObject_IsTrue(answer.ptr());
  if (stop < 0) nb::raise_python_error();
  return stop != 0 ? Control::stop : Control::proceed;
}

void raise_signals() {
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
}

}  // namespace tessera::python
