// PCTESSERA: preconditioners of Tessera for the matrix of one process, which is its diagonal block under MPI (block
// Jacobi). Set up anew for a new structure; new values go through Preconditioner::refresh().
#include "pc_words.hpp"
#include "plugin.hpp"
#include "seq_aij.hpp"

#include "tessera/error.hpp"

#include <petsc/private/pcimpl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::petsc {

namespace {

/// The type of the argument that PETSc's macros name PetscOptionsObject; a pointer to a struct or a pointer type.
template <class Function>
struct SecondArgument;
template <class A, class B>
struct SecondArgument<PetscErrorCode (*)(A, B)> {
  using type = B;
};
using OptionItems = SecondArgument<decltype(_PCOps::setfromoptions)>::type;

struct State {
  PcChoice choice = IncompleteFactorOptions{.kind = FactorKind::ilu0};
  AmgOptions amg;                                        ///< what options say of amg
  std::unique_ptr<Preconditioner<PetscScalar>> inverse;  ///< null for a process without rows
};

[[nodiscard]] State& state_of(PC pc) { return *static_cast<State*>(pc->data); }

/// The matrix of this process as MATSEQAIJ, or a type derived from it. \param copy the caller destroys it; null if A is
/// one already
PetscErrorCode get_local_matrix(PC pc, Mat* local, Mat* copy) {
  PetscFunctionBegin;
  *copy = nullptr;
  PetscCall(MatGetDiagonalBlock(pc->pmat, local));
  PetscBool is_seq_aij = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(*local), MATSEQAIJ, &is_seq_aij));
  if (!is_seq_aij) {
    PetscCall(MatConvert(*local, MATSEQAIJ, MAT_INITIAL_MATRIX, copy));
    *local = *copy;
  }
  PetscFunctionReturn(success);
}

/// Near-nullspace and unknowns per node, which the matrix knows.
PetscErrorCode add_facts_of_matrix(Mat a, AmgOptions* options) {
  constexpr PetscInt largest_block = 16;
  PetscFunctionBegin;
  PetscInt block = 1;
  PetscInt rows = 0;
  PetscCall(MatGetBlockSize(a, &block));
  PetscCall(MatGetLocalSize(a, &rows, nullptr));
  if (block > 1 && block <= largest_block) options->block_size = static_cast<int>(block);
  MatNullSpace near = nullptr;
  PetscCall(MatGetNearNullSpace(a, &near));
  if (near == nullptr) PetscFunctionReturn(success);
  PetscBool has_constant = PETSC_FALSE;
  PetscInt count = 0;
  const Vec* vectors = nullptr;
  PetscCall(MatNullSpaceGetVecs(near, &has_constant, &count, &vectors));
  // Fewer vectors than unknowns per node do not tell them apart.
  if (count + (has_constant ? 1 : 0) < options->block_size) PetscFunctionReturn(success);
  std::vector<double>& target = options->near_nullspace;
  const auto most = static_cast<std::size_t>(rows) * static_cast<std::size_t>(count + (has_constant ? 1 : 0));
  PetscCall(guarded([&] { target.reserve(most); }));
  if (has_constant) target.assign(static_cast<std::size_t>(rows), 1.0);
  for (PetscInt k = 0; k < count; ++k) {
    const PetscScalar* entries = nullptr;
    PetscCall(VecGetArrayRead(vectors[k], &entries));
    target.insert(target.end(), entries, entries + rows);
    PetscCall(VecRestoreArrayRead(vectors[k], &entries));
  }
  PetscFunctionReturn(success);
}

PetscErrorCode build(PC pc, const SeqAijArrays& arrays) {
  PetscFunctionBegin;
  State& state = state_of(pc);
  Device host;
  PetscCall(get_host(reinterpret_cast<PetscObject>(pc), "-pc_tessera_threads", &host));
  PcChoice choice = state.choice;
  if (std::holds_alternative<AmgOptions>(choice)) {
    AmgOptions options = state.amg;
    PetscCall(add_facts_of_matrix(pc->pmat, &options));
    choice = std::move(options);
  }
  state.inverse.reset();
  if (arrays.key.rows == 0) PetscFunctionReturn(success);
  PetscCall(guarded([&] { state.inverse = make_pc(choice, arrays.borrow(host, Check::full).view(), host); }));
  PetscFunctionReturn(success);
}

PetscErrorCode set_up(PC pc) {
  PetscFunctionBegin;
  Mat local = nullptr;
  Mat copy = nullptr;
  SeqAijArrays arrays;
  PetscCall(get_local_matrix(pc, &local, &copy));
  PetscCall(get_arrays(local, &arrays));
  State& state = state_of(pc);
  if (state.inverse && pc->flag == SAME_NONZERO_PATTERN) {
    const Device host = state.inverse->device();
    PetscCall(guarded([&] { state.inverse->refresh(arrays.borrow(host, Check::trusted).view()); }));
  } else {
    PetscCall(build(pc, arrays));
  }
  PetscCall(MatDestroy(&copy));
  PetscFunctionReturn(success);
}

template <class Body>
PetscErrorCode with_arrays(Vec x, Vec y, const Body& body) {
  PetscFunctionBegin;
  PetscInt size = 0;
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscCall(VecGetLocalSize(x, &size));
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArrayWrite(y, &to));
  const auto count = static_cast<std::size_t>(size);
  const PetscErrorCode outcome =
      guarded([&] { body(std::span<const PetscScalar>(from, count), std::span<PetscScalar>(to, count)); });
  PetscCall(VecRestoreArrayWrite(y, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscCall(outcome);
  PetscFunctionReturn(success);
}

PetscErrorCode apply(PC pc, Vec x, Vec y) {
  PetscFunctionBegin;
  const State& state = state_of(pc);
  PetscCall(with_arrays(x, y, [&](auto from, auto to) {
    if (state.inverse) state.inverse->apply(from, to);
  }));
  PetscFunctionReturn(success);
}

PetscErrorCode apply_transpose(PC pc, Vec x, Vec y) {
  PetscFunctionBegin;
  const State& state = state_of(pc);
  PetscCall(with_arrays(x, y, [&](auto from, auto to) {
    if (!state.inverse) return;
    if (state.inverse->has_transpose() || !state.inverse->info().is_symmetric) {
      state.inverse->apply_transposed(from, to);
    } else {
      state.inverse->apply(from, to);
    }
  }));
  PetscFunctionReturn(success);
}

/// The word of a list of enumerators that an option names.
template <class Enum, std::size_t N>
PetscErrorCode read_word(OptionItems PetscOptionsObject, const char* option, const char* help,
                         const std::array<Enum, N>& choices, Enum* value) {
  PetscFunctionBegin;
  std::array<const char*, N> words{};
  PetscInt chosen = 0;
  for (std::size_t k = 0; k < N; ++k) {
    words[k] = to_string(choices[k]).data();
    if (choices[k] == *value) chosen = static_cast<PetscInt>(k);
  }
  PetscCall(PetscOptionsEList(option, help, nullptr, words.data(), static_cast<PetscInt>(N),
                              words[static_cast<std::size_t>(chosen)], &chosen, nullptr));
  *value = choices[static_cast<std::size_t>(chosen)];
  PetscFunctionReturn(success);
}

PetscErrorCode set_from_options(PC pc, OptionItems PetscOptionsObject) {
  PetscFunctionBegin;
  State& state = state_of(pc);
  PetscOptionsHeadBegin(PetscOptionsObject, "Preconditioners of Tessera");
  std::array<char, 128> text{};
  PetscBool given = PETSC_FALSE;
  PetscCall(PetscOptionsString("-pc_tessera_type", "jacobi, ilu0, ilut:TAU:P, ic0, amg, fsai, ...", nullptr,
                               pc_name(state.choice).c_str(), text.data(), text.size(), &given));
  if (given) PetscCall(guarded([&] { state.choice = parse_pc(text.data()); }));
  using enum AmgCycle;
  PetscCall(read_word(PetscOptionsObject, "-pc_tessera_amg_cycle", "of amg", std::array{v, w, k}, &state.amg.cycle));
  using enum AmgSmoother;
  PetscCall(read_word(PetscOptionsObject, "-pc_tessera_amg_smoother", "of amg",
                      std::array{jacobi, l1_jacobi, spai0, chebyshev}, &state.amg.smoother));
  auto strength = static_cast<PetscReal>(state.amg.strength_threshold);
  PetscCall(PetscOptionsReal("-pc_tessera_amg_strength", "of amg: smallest strong entry", nullptr, strength, &strength,
                             &given));
  if (given) state.amg.strength_threshold = static_cast<double>(strength);
  PetscOptionsHeadEnd();
  PetscFunctionReturn(success);
}

PetscErrorCode view(PC pc, PetscViewer viewer) {
  PetscFunctionBegin;
  const State& state = state_of(pc);
  PetscBool is_text = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_text));
  if (!is_text) PetscFunctionReturn(success);
  PetscMPIInt size = 1;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(reinterpret_cast<PetscObject>(pc)), &size));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s%s\n", pc_name(state.choice).c_str(),
                                   size > 1 ? ", of the diagonal block of each process" : ""));
  if (!state.inverse) PetscFunctionReturn(success);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %zu bytes%s\n", static_cast<std::size_t>(state.inverse->info().bytes),
                                   size > 1 ? " on the first process" : ""));
  if (const auto* amg = dynamic_cast<const Amg<PetscScalar>*>(state.inverse.get())) {
    for (const AmgLevelInfo& level : amg->hierarchy().levels) {
      PetscCall(PetscViewerASCIIPrintf(viewer, "  level of %lld rows, %lld nonzeros\n",
                                       static_cast<long long>(level.rows), static_cast<long long>(level.nnz)));
    }
  }
  PetscFunctionReturn(success);
}

PetscErrorCode reset(PC pc) {
  state_of(pc).inverse.reset();
  return success;
}

PetscErrorCode destroy(PC pc) {
  delete static_cast<State*>(pc->data);
  pc->data = nullptr;
  return success;
}

PetscErrorCode create(PC pc) {
  PetscFunctionBegin;
  PetscCall(guarded([&] { pc->data = new State; }));
  pc->ops->setup = set_up;
  pc->ops->apply = apply;
  pc->ops->applytranspose = apply_transpose;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->view = view;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  PetscFunctionReturn(success);
}

}  // namespace

PetscErrorCode register_pc() { return PCRegister(pc_type, create); }

}  // namespace tessera::petsc
