// Exceptions of the library as Python exceptions of the same names, with their numbers as attributes.
#include "errors.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace tessera::python {

namespace nb = nanobind;

namespace {

/// A message of C++ in Python's words: options are keyword arguments there, of no class.
[[nodiscard]] std::string in_python(std::string message) {
  constexpr std::string_view transpose = "SpmvOptions::with_transpose, or call its prepare_transpose()";
  if (const auto at = message.find(transpose); at != std::string::npos) {
    message.replace(at, transpose.size(), "transpose=True");
  }
  constexpr std::string_view owner = "Options::";
  for (auto at = message.find(owner); at != std::string::npos; at = message.find(owner)) {
    const auto before = message.find_last_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", at);
    const auto begin = before == std::string::npos ? 0 : before + 1;
    message.erase(begin, at + owner.size() - begin);
  }
  return message;
}

[[nodiscard]] nb::object made(const char* type, const std::exception& error) {
  return nb::module_::import_("tessera.errors").attr(type)(in_python(error.what()));
}

void raise(const nb::object& error) { PyErr_SetObject(error.type().ptr(), error.ptr()); }

void raise(const char* type, const std::exception& error) { raise(made(type, error)); }

void raise_parse_error(const ParseError& error) {
  const nb::object raised = made("ParseError", error);
  raised.attr("file") = error.file();
  raised.attr("line") = error.line();
  raised.attr("column") = error.column();
  raised.attr("byte") = error.byte();
  raise(raised);
}

void raise_out_of_memory(const OutOfMemory& error) {
  const nb::object raised = made("OutOfMemory", error);
  raised.attr("requested_bytes") = error.requested_bytes();
  raised.attr("available_bytes") = error.available_bytes();
  raise(raised);
}

void raise_cuda_error(const CudaError& error) {
  const nb::object raised = made("CudaError", error);
  raised.attr("code") = error.code();
  raise(raised);
}

/// Derived classes before their bases; what is no error of the library goes on to the next translator.
void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const ParseError& error) {
    raise_parse_error(error);
  } catch (const OutOfMemory& error) {
    raise_out_of_memory(error);
  } catch (const CudaError& error) {
    raise_cuda_error(error);
  } catch (const SingularMatrix& error) {
    raise("SingularMatrix", error);
  } catch (const InvalidMatrix& error) {
    raise("InvalidMatrix", error);
  } catch (const OptionError& error) {
    raise("OptionError", error);
  } catch (const InvalidArgument& error) {
    raise("InvalidArgument", error);
  } catch (const DimensionError& error) {
    raise("DimensionError", error);
  } catch (const NotSupported& error) {
    raise("NotSupported", error);
  } catch (const IoError& error) {
    raise("IoError", error);
  } catch (const BudgetExceeded& error) {
    raise("BudgetExceeded", error);
  } catch (const DeviceUnavailable& error) {
    raise("DeviceUnavailable", error);
  } catch (const Error& error) {
    raise("Error", error);
  }
}

}  // namespace

void translate_errors() { nb::register_exception_translator(translate); }

}  // namespace tessera::python
