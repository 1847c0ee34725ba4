/// \file
/// Preconditioners by the words of `solve --precond`: a name, and parameters after colons.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/direct.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/preconditioner.hpp"

#include <petscsys.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace tessera::petsc {

struct Jacobi {};

/// What a word chose, with its parameters.
using PcChoice = std::variant<Jacobi, IncompleteFactorOptions, AmgOptions, FsaiOptions, SpaiOptions, PolynomialOptions,
                              DirectOptions>;

/// "jacobi", "ilu0", "iluk:K", "ilut:TAU:P", "ilutp:TAU:P", "ic0", "ict:TAU:P", "bjacobi:BLOCKS:SPEC", "amg",
/// "fsai:K:TAU", "spai:LEVEL", "poly:DEG", "neumann:K", "direct"; parameters that are left out keep the defaults of the
/// options. \throws InvalidArgument naming the forms
[[nodiscard]] PcChoice parse_pc(std::string_view text);

/// With all parameters, as parse_pc() reads it.
[[nodiscard]] std::string pc_name(const PcChoice& choice);

/// \param matrix on the host; read during set-up alone \throws what the constructors throw
[[nodiscard]] std::unique_ptr<Preconditioner<PetscScalar>> make_pc(const PcChoice& choice,
                                                                   const CsrView<PetscScalar>& matrix,
                                                                   const Device& host);

}  // namespace tessera::petsc
