// --engine petsc: its options, its library, and the processes that share one command line.
#include "engine.hpp"

#include "foreign_options.hpp"
#include "option_values.hpp"
#include "summary_text.hpp"

#include "tessera/error.hpp"
#include "tessera/version.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace tessera::cli {

namespace {

constexpr auto foreign_options = std::to_array<ForeignOption>({
    {"precision", "fp64", "PETSc computes in fp64"},
    {"device", "auto|host", "products and iterations run on the host"},
    {"spmv", "auto", "each process plans the product of its rows by itself"},
    {"determinism", "none", "sums depend on the number of processes"},
    {"plan-info", "", ""},
    {"cache", "off", "solve convert A.mtx A.tsb writes a file that is read faster"},
    {"transpose", "", "solve convert A.mtx B.mtx --transpose writes the transpose"},
    {"damp", "0", "least squares need --engine tessera"},
    {"error-gate", "auto|off", "the error of x is not estimated"},
    {"replace-residual", "auto", ""},
    {"shadow", "r0", ""},
    {"precond-opt", "", ""},
    {"block", "auto|1", ""},
    {"mem-limit", "", "each process takes its share of the matrix"},
    {"dry-run", "", ""},
    {"ordering", "auto|natural", "each process takes rows that follow each other in the file"},
});

/// Where the environment says, else beside the command as it was built or installed.
[[nodiscard]] std::string library_name() {
  const char* const named = std::getenv("TESSERA_PETSC_LIBRARY");
  return named != nullptr && *named != '\0' ? named : "libtessera-petsc.so";
}

#ifdef TESSERA_HAS_PETSC
constexpr bool is_compiled_in = true;
#else
constexpr bool is_compiled_in = false;
#endif

[[noreturn]] void refuse_engine(const std::string& problem) {
  throw DeviceUnavailable(
      fmt::format("--engine petsc cannot be used: {}; hint: --engine tessera works everywhere; "
                  "solve doctor tells the versions of PETSc and MPI",
                  problem));
}

/// \throws DeviceUnavailable
[[nodiscard]] const petsc::EngineLibrary& load_library() {
  if (!is_compiled_in) refuse_engine("this build has no PETSc");
  // Its symbols are global because plug-ins of MPI look for those of MPI there.
  void* const handle = ::dlopen(library_name().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) refuse_engine(::dlerror());
  void* const symbol = ::dlsym(handle, petsc::engine_library_function);
  if (symbol == nullptr) refuse_engine(library_name() + " is not the library of the engine");
  const petsc::EngineLibrary& library = *reinterpret_cast<petsc::EngineLibraryFunction>(symbol)();
  const std::string wanted = fmt::format("{} {}", build_info().version, build_info().commit);
  if (library.build != wanted) {
    refuse_engine(fmt::format("{} is of Tessera {}, this is {}", library_name(), library.build, wanted));
  }
  return library;
}

}  // namespace

bool uses_petsc(const Options& options) {
  constexpr Choices<bool, 2> engines{{{"tessera", false}, {"petsc", true}}};
  return choice_option(options, "engine", engines);
}

void require_petsc_options(const Options& options) { require_no_foreign(options, foreign_options, "--engine petsc"); }

PetscSurvey survey_petsc() {
  PetscSurvey survey{.compiled_in = is_compiled_in, .versions = {}, .problem = {}};
  try {
    survey.versions = load_library().versions();
  } catch (const DeviceUnavailable& error) {
    const std::string text = error.what();
    const std::size_t begin = text.find(": ") + 2;
    survey.problem = text.substr(begin, text.find("; hint: ") - begin);
  }
  return survey;
}

std::unique_ptr<petsc::Engine> start_petsc(std::function<int(const std::exception&)> announce) {
  return load_library().start(std::move(announce));
}

Launch launch() {
  constexpr std::array<std::pair<const char*, const char*>, 3> variables{
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}};
  for (const auto& [number, count] : variables) {
    const char* const number_text = std::getenv(number);
    const char* const count_text = std::getenv(count);
    if (number_text == nullptr || count_text == nullptr) continue;
    const auto parsed_number = parse_count(number_text);
    const auto parsed_count = parse_count(count_text);
    if (parsed_number && parsed_count && *parsed_number < *parsed_count) {
      return {static_cast<int>(*parsed_number), static_cast<int>(*parsed_count)};
    }
  }
  return {};
}

void silence_copies(const std::vector<std::string>& arguments) {
  if (launch().number == 0) return;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const bool is_next = k > 0 && arguments[k] == "petsc" && arguments[k - 1] == "--engine";
    if (is_next || arguments[k] == "--engine=petsc") return fall_silent();
  }
}

namespace {

/// Standard error as it was; -1: this process speaks.
int loud_error = -1;

}  // namespace

void fall_silent() {
  if (loud_error != -1) return;
  loud_error = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nobody = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nobody == -1) return;
  ::dup2(nobody, STDOUT_FILENO);
  ::dup2(nobody, STDERR_FILENO);
  ::close(nobody);
}

int speak_of_failure(const std::exception& error) {
  if (loud_error != -1) ::dup2(loud_error, STDERR_FILENO);
  const Failure failure = classify(error);
  print_failure(failure);
  return static_cast<int>(failure.code);
}

int exit_status(ExitCode code) { return loud_error == -1 ? static_cast<int>(code) : 0; }

void warn_about_copies(Warnings& warnings) {
  const Launch started = launch();
  if (started.count == 1 || started.number > 0) return;
  warnings.push_back({"W027", fmt::format("{} copies of solve were started, and each solves a whole system; --engine "
                                          "petsc lets them solve one together",
                                          started.count)});
}

std::string engine_line(const petsc::EngineInfo& info) {
  return line("engine",
              fmt::format("{}, {}, {} of at most {} rows and {} nonzeros, mat {}, ksp {}, pc {}", info.petsc, info.mpi,
                          info.processes == 1 ? "1 process" : fmt::format("{} processes", info.processes),
                          info.most_rows, info.most_nnz, info.mat_type, info.ksp_type, info.pc_type));
}

}  // namespace tessera::cli
