"""SystemVerilog of memories with initial contents: constant tables and initialised static arrays."""

from __future__ import annotations

from .memory import Memory


def image_module(name: str, memory: Memory) -> str:
    """A module like hlsc_ram, or without a write port if the memory is constant, that holds ``contents``."""
    assert memory.contents is not None
    w, a = memory.width, memory.address_bits
    digits = -(-w // 4)
    write_ports = (
        ""
        if memory.constant
        else (
            f"    input  wire          we,\n    input  wire  [{a - 1}:0] wa,\n"
            f"    input  wire  [{w - 1}:0] wd,\n    input  wire          forward,\n"
        )
    )
    words = "".join(
        f"    mem[{k}] = {w}'h{v & ((1 << w) - 1):0{digits}x};\n" for k, v in enumerate(memory.contents)
    )
    if memory.constant:
        body = "  always_ff @(posedge clk) if (re) rd <= mem[ra];\n"
    else:
        body = (
            f"  logic [{w - 1}:0] from_memory, from_write;\n  logic was_forwarded;\n"
            "  always_ff @(posedge clk) begin\n    if (we) mem[wa] <= wd;\n"
            "    if (re) from_memory <= mem[ra];\n  end\n"
            "  always_ff @(posedge clk) begin\n    if (re) begin\n      from_write    <= wd;\n"
            "      was_forwarded <= forward && we && wa == ra;\n    end\n  end\n"
            "  assign rd = was_forwarded ? from_write : from_memory;\n"
        )
    kind = "Constant table" if memory.constant else "Initialised array"
    return (
        f"// {kind} '{memory.name}': {memory.depth} words of {w} bits.\n"
        f"module {name} (\n    input  wire          clk,\n{write_ports}"
        f"    input  wire          re,\n    input  wire  [{a - 1}:0] ra,\n"
        f"    output logic [{w - 1}:0] rd\n);\n"
        f"  logic [{w - 1}:0] mem[{memory.depth}];\n  initial begin\n{words}  end\n{body}endmodule\n"
    )


def image_extern(name: str, memory: Memory) -> str:
    """The same module's declaration for CIRCT."""
    w, a = memory.width, memory.address_bits
    write = "" if memory.constant else f"in %we : i1, in %wa : i{a}, in %wd : i{w}, in %forward : i1, "
    return (
        f"hw.module.extern @{name}(in %clk : !seq.clock, {write}in %re : i1, in %ra : i{a}, out rd : i{w})\n"
    )
