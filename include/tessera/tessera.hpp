/// \file
/// All public headers, except tessera/eigen.hpp.
#pragma once

#include "tessera/array.hpp"
#include "tessera/assemble.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/matrix_cache.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/spmv.hpp"
#include "tessera/statistics.hpp"
#include "tessera/text_file.hpp"
#include "tessera/types.hpp"
#include "tessera/version.hpp"
