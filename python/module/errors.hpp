/// \file
/// Exceptions of the library as those of tessera.errors.
#pragma once

#include "tessera/error.hpp"

namespace tessera::python {

/// An argument of a wrong type, or one that there is not.
class OptionError : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Registers the translation; called once.
void translate_errors();

}  // namespace tessera::python
