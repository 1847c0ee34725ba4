/// \file
/// The message of an exception that a test expects.
#pragma once

#include <string>
#include <utility>

namespace tessera::testing {

/// What function() throws as an Exception; a sentence that says so where it throws none. Exceptions of other types
/// pass.
template <class Exception, class Function>
[[nodiscard]] std::string message_of(Function&& function) {
  try {
    std::forward<Function>(function)();
  } catch (const Exception& error) {
    return error.what();
  }
  return "no exception of this type";
}

}  // namespace tessera::testing
