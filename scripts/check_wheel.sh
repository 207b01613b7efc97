#!/usr/bin/env bash
# Builds the wheel, installs it away from the checkout and runs the demo from it: an installed kit must be whole.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/wheel
rm -rf "$out" && mkdir -p "$out"
.venv/bin/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir "$out" .
python3 -m venv "$out/venv"
"$out/venv/bin/python" -m pip --disable-pip-version-check install --quiet "$(ls "$out"/*.whl)[sim]"
cd "$out"
SPECKV_BUILD="$PWD/build" venv/bin/speckv demo --backend software,csim --report demo.html --json >demo.json
venv/bin/python - <<'PY'
import json, pathlib
rows = json.loads(pathlib.Path("demo.json").read_text())["rows"]
assert rows and all(row["identical"] for row in rows), rows
print(f"wheel: {len(rows)} rows identical")
PY
