/// \file
/// tessera::detail holds the internals of the library that both backends use: tessera::host and tessera::cuda see them
/// without qualification, the public namespace does not.
#pragma once

namespace tessera {

namespace detail {}

namespace host {
using namespace detail;
}

namespace cuda {
using namespace detail;
}

}  // namespace tessera
