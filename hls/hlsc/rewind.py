"""`pipeline rewind`: the end of one call and the start of the next share the pipeline, with no bubble
between.
"""

from __future__ import annotations

from .dfg import Node
from .errors import UNKNOWN, HlscError
from .optimise import fold_rewind
from .process import Process
from .regions import Region


def _refuse(region: Region, why: str, instead: str) -> HlscError:
    where = region.pragma.where if region.pragma else UNKNOWN
    return HlscError(where, "pipeline rewind", why, instead)


def apply_rewind(process: Process) -> None:
    """Reduce a process whose loop asks for rewind to that one endless loop.

    Raises HlscError if the process is not of the form: constant initialisation, one loop, nothing after it.
    """
    asking = [r for r in process.regions if r.pragma is not None and "rewind" in r.pragma.options]
    if not asking:
        return
    loop = asking[0]
    loops = [r for r in process.regions if r.is_loop]
    if len(loops) != 1:
        raise _refuse(loop, "the process has another loop beside this one", "keep one loop per process, or drop rewind")
    for other in process.regions:
        if other is not loop and other.effects:
            e = other.effects[0]
            raise _refuse(
                loop,
                f"line {e.where.line} has a {e.op} of '{e.key}' outside the loop",
                "move it into the loop, or drop rewind",
            )
    for phi in loop.phis:
        inputs = loop.phi_inputs[phi.id]
        values = {_constant(process, v) for _, v in inputs}
        if len(values) != 1 or None in values:
            raise _refuse(
                loop,
                f"'{phi.name}' does not start from one constant",
                "initialise loop-carried variables with constants",
            )
        value = values.pop()
        assert value is not None
        loop.phi_inputs[phi.id] = [("", loop.graph.const(value, phi.width))]
    if any(e.target is not None and not _ends(process, e.target, (loop,)) for e in loop.exits):
        raise _refuse(loop, "the process goes on after the loop", "end the process with the loop, or drop rewind")
    external = [n for n in _reachable(loop) if n.op == "external"]
    for n in external:
        value = _constant(process, n)
        if value is None:
            raise _refuse(loop, f"'{n.key}' is computed outside the loop", "compute it inside the loop")
        n.op, n.value, n.key = "const", value, ""
    if loop.exits:
        fold_rewind(loop)
    loop.rewind = True
    loop.results.clear()
    process.crossing.clear()
    process.regions = [loop]
    loop.index = 0


def _ends(process: Process, block: str, path: tuple[Region, ...]) -> bool:
    """Whether every way from the block leads to the process' end; a region that comes back to itself does not."""
    region = process.region_of[block]
    if any(region is before for before in path):
        return False
    return all(e.target is None or _ends(process, e.target, (*path, region)) for e in region.exits)


def _constant(process: Process, node: Node) -> int | None:
    if node.op == "external":
        node = process.crossing[node.key][1]
    return node.value if node.op == "const" else None


def _reachable(region: Region) -> list[Node]:
    seen: set[int] = set()
    out: list[Node] = []
    todo = list(region.effects) + [e.node for e in region.exits] + list(region.phis)
    while todo:
        n = todo.pop()
        if n.id not in seen:
            seen.add(n.id)
            out.append(n)
            todo += n.args
    return out
