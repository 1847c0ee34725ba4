# Sourced by .ci/run and .ci/nightly: stages with times, the real matrices, tools that a clean machine lacks.

if [ -z "${TESSERA_TEST_DATA:-}" ] && [ -d ../shared/matrices ]; then
  TESSERA_TEST_DATA=$(cd ../shared/matrices && pwd)
  export TESSERA_TEST_DATA
fi

stage_names=()
stage_begins=()

stage() {
  stage_names+=("$1")
  stage_begins+=("$SECONDS")
  printf '\n== %s (at %d s)\n' "$1" "$SECONDS"
}

print_stages() {
  local status=$? i end
  printf '\n%-50s %8s\n' "stage" "seconds"
  for i in "${!stage_names[@]}"; do
    end=${stage_begins[i + 1]:-$SECONDS}
    printf '%-50s %8d\n' "${stage_names[i]}" $((end - stage_begins[i]))
  done
  printf '%-50s %8d\n' "all (exit code $status)" "$SECONDS"
}
trap print_stages EXIT

need_tool() {
  command -v "$1" >/dev/null || scripts/install-dependencies.sh "$1"
}
