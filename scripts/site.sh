#!/usr/bin/env bash
# Builds the documentation as a site, in build/site/html: the pages of docs/ as they are, the Python API from docstrings, the
# C++ API from the headers, the examples. Warnings and dead links are errors.
#
#   scripts/site.sh              skips, and says so, where pip cannot reach a package index
#   scripts/site.sh --external   asks for every link to another site, too
set -euo pipefail
cd "$(dirname "$0")/.."

command -v doxygen >/dev/null || scripts/install-dependencies.sh doxygen
python=${PYTHON:-python3}
site=$PWD/build/site
mkdir -p "$site"
# Versions that are known to go together; a folder of their own, which the next run takes again.
wanted=(sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19 "numpy>=1.25" "scipy>=1.11")
if [ "$(cat "$site/venv/wanted" 2>/dev/null)" != "${wanted[*]}" ]; then
  "$python" -m venv --clear "$site/venv" || scripts/install-dependencies.sh python3-venv
  if ! "$python" -m venv --clear "$site/venv" >"$site/log" 2>&1 ||
    ! "$site/venv/bin/python" -m pip install --quiet --timeout 20 --retries 1 "${wanted[@]}" >"$site/log" 2>&1; then
    echo "site: SKIPPED, pip cannot install what it needs ($(tail -n 1 "$site/log"))"
    exit 0
  fi
  echo "${wanted[*]}" >"$site/venv/wanted"
fi

rm -rf "$site/source" "$site/extra" "$site/doctrees" "$site/html"
mkdir -p "$site/extra"
TESSERA_SITE="$site/extra" doxygen docs/site/Doxyfile
"$site/venv/bin/python" docs/site/pages.py "$site/source" "$site/extra/cpp"
builders=(html)
[ "${1:-}" != --external ] || builders+=(linkcheck)
for builder in "${builders[@]}"; do
  TESSERA_SITE_EXTRA="$site/extra" "$site/venv/bin/python" -m sphinx --builder "$builder" --fail-on-warning --keep-going \
    --quiet --jobs auto --conf-dir docs/site --doctree-dir "$site/doctrees" "$site/source" "$site/$builder"
done
echo "site: $site/html/index.html, $(find "$site/html" -name '*.html' | wc -l) pages"
