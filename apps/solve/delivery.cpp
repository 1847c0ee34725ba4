#include "delivery.hpp"

#include "messages.hpp"
#include "outputs.hpp"

#include "tessera/error.hpp"
#include "tessera/text_file.hpp"

namespace tessera::cli {

namespace {

/// Runs one output; its failure is told, and changes the exit code, but stops nothing.
template <class Write>
void attempt(ExitCode& code, const Write& write) {
  try {
    write();
  } catch (const InvalidMatrix& error) {
    // A solution that holds NaN: the status of the solve says more than this failure.
    print_failure(classify(error));
    if (code == ExitCode::success) code = ExitCode::bad_input;
  } catch (const std::exception& error) {
    const Failure failure = classify(error);
    print_failure(failure);
    code = failure.code;
  }
}

void put_summary(const OutputSettings& settings, const std::string& text) {
  if (settings.quiet) return;
  if (!settings.stdout_taken()) {
    write_stdout(text);
  } else if (settings.vector_on_stdout() || settings.verbosity > 0) {
    write_stderr(text);
  }
}

/// To a file, or ("-") to standard output.
void put_text(const std::string& path, const std::string& text) {
  path == "-" ? write_stdout(text) : write_text_file(path, text);
}

}  // namespace

ExitCode deliver(const OutputSettings& settings, ExitCode code, const Deliverables& results) {
  if (settings.vector) attempt(code, [&] { results.write_vector(*settings.vector); });
  if (settings.history) {
    attempt(code, [&] { write_text_file(*settings.history, history_csv(*results.history)); });
  }
  if (settings.csv) attempt(code, [&] { put_text(*settings.csv, results.csv()); });
  if (settings.markdown) attempt(code, [&] { put_text(*settings.markdown, results.markdown()); });
  if (settings.json) {
    attempt(code, [&] { put_text(*settings.json, results.json(code)); });
  }
  attempt(code, [&] { put_summary(settings, results.summary()); });
  return code;
}

}  // namespace tessera::cli
