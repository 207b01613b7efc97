"""Programs with the names of AMD's, on PATH: they note how they were called and make what the real ones would."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

TOOLS = ("v++", "vivado", "emconfigutil")
_PROGRAM = """\
#!{python}
import os, pathlib, sys, time
name, arguments = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
line = " ".join([name, *arguments])
with open({log!r}, "a") as log:
    log.write(line + "\\n")
print("this is", line)
if {failing!r} and {failing!r} in line:
    sys.exit("ERROR: [fake 1-1] out of luck")
if {sleeping!r} and {sleeping!r} in line:
    pathlib.Path({log!r} + ".pid").write_text(str(os.getpid()))
    time.sleep(60)
def behind(option):
    return arguments[arguments.index(option) + 1] if option in arguments else None
made = []
if name == "vivado":
    script, *given = [behind("-source"), *arguments[arguments.index("-tclargs") + 1:]]
    if script == "block_design.tcl":
        made = [given[1] + ".bit", given[1] + ".hwh"]
    else:
        made = [given[1] + "/component.xml", *given[2:]]
elif name == "emconfigutil":
    made = [behind("--od") + "/emconfig.json"]
elif "-c" in arguments:
    work = behind("--work_dir")
    made = [f"{{work}}/{{pathlib.Path(work).name}}.{{kind}}" for kind in ("xo", "zip")]
    made.append(work + "/hls/syn/report/csynth.rpt")
else:
    made = [behind("-o")]
for path in map(pathlib.Path, made):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line)
"""


class FakeTools:
    """Installs them and reads how they were called; calls with `failing` in them fail, with `sleeping` take long."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._bin, self._log = folder / "bin", folder / "calls"
        self._bin.mkdir(parents=True)
        monkeypatch.setenv("PATH", f"{self._bin}{os.pathsep}{os.environ['PATH']}")

    def install(self, *names: str, failing: str = "", sleeping: str = "") -> None:
        for name in names or TOOLS:
            path = self._bin / name
            text = _PROGRAM.format(python=sys.executable, log=str(self._log), failing=failing, sleeping=sleeping)
            path.write_text(text)
            path.chmod(0o755)

    def calls(self) -> list[str]:
        """The calls since the last time that they were read."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return lines

    @property
    def pid_file(self) -> Path:
        return self._log.with_name("calls.pid")
