#!/usr/bin/env bash
# Builds the wheel, installs it away from the checkout and runs doctor and demo from it: an installed kit must be whole.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
out=build/wheel
rm -rf "$out" && mkdir -p "$out"
.venv/bin/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir "$out" .
"$python" -m venv "$out/venv"
"$out/venv/bin/python" -m pip --disable-pip-version-check install --quiet "$(ls "$out"/*.whl)[sim]"
cd "$out"
export SPECKV_BUILD="$PWD/build"
venv/bin/speckv doctor
venv/bin/speckv demo --backend software,csim,cosim --report demo.html --json >demo.json
venv/bin/python - <<'PY'
import json, pathlib
import speckv.resources

assert not speckv.resources.in_checkout(), "this is the checkout's speckv, not the wheel's"
assert (speckv.resources.hls_root() / "format.md").is_file()
rows = json.loads(pathlib.Path("demo.json").read_text())["rows"]
assert {row["evidence"] for row in rows} == {"model", "csim", "rtl-sim"}, rows
assert all(row["identical"] for row in rows), rows
print(f"wheel: {len(rows)} rows identical")
PY
