#!/usr/bin/env bash
# Builds the libFuzzer program of the readers with clang and sanitizers, and runs each of its targets. Any crash, hang, leak or use of too much
# memory fails, and leaves the input that caused it in build/fuzz/.
#
#   scripts/fuzz.sh [SECONDS] [TARGET...]     SECONDS: for each target (default 30)
#                                             TARGETs: names of folders of tests/fuzz/corpus (default: all of them)
#
# TESSERA_FUZZ_SEED  the same inputs in every run, as far as the time goes; unset: other ones
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls tests/fuzz/corpus)

scripts/install-dependencies.sh clang
scripts/install-dependencies.sh "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --parallel "${TESSERA_BUILD_JOBS:-$(nproc)}" --target fuzz_readers

for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  echo "== $target, $seconds s"
  build/fuzz/bin/fuzz_readers --target="$target" "$corpus" "tests/fuzz/corpus/$target" -max_total_time="$seconds" -rss_limit_mb=1024 \
    -seed="${TESSERA_FUZZ_SEED:-0}" -timeout=10 -max_len=4096 -artifact_prefix="build/fuzz/$target-" -print_final_stats=1 2>"build/fuzz/$target.log" ||
    { tail -n 40 "build/fuzz/$target.log" >&2; exit 1; }
  grep -E '^#[0-9]+.*DONE|number_of_executed_units|peak_rss_mb' "build/fuzz/$target.log"
done
