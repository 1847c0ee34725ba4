/// \file
/// Exceptions of the library as those of tessera.errors.
#pragma once

namespace tessera::python {

/// Registers the translation; called once.
void translate_errors();

}  // namespace tessera::python
