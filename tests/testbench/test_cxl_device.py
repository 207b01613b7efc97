"""The CXL.mem device and its host: loads and stores, credits and tags, poison, addresses that are nobody's."""

from __future__ import annotations

import numpy as np
import pytest

from testbench.lib.cxl.device import CxlDevice, CxlHost, Done
from testbench.lib.cxl.hdm import ALIGNMENT, HdmDecoder
from testbench.lib.cxl.messages import Channel, CxlError, DevLoad, Drs, DrsOpcode, Ndr, NdrOpcode, ReqOpcode
from testbench.lib.cxl.scoreboard import LineScoreboard

BASE = 0x20_0000_0000
SIZE = 4096
LINE = bytes(range(64))


def made(**options: object) -> tuple[CxlDevice, CxlHost]:
    rng = np.random.default_rng(5)
    decoder = HdmDecoder(BASE, 2 * ALIGNMENT, ways=2, granularity=512, position=1)
    device = CxlDevice(rng.integers(0, 256, SIZE, np.uint8), [decoder], rng, **options)  # type: ignore[arg-type]
    return device, CxlHost(device)


def hpa(device: CxlDevice, dpa: int) -> int:
    return device.decoders[0].to_hpa(dpa)


def finish(host: CxlHost, limit: int = 1000) -> list[Done]:
    done = []
    for _ in range(limit):
        done += host.step()
        if not host.outstanding and host.device.idle:
            return done
    raise AssertionError(f"{host.outstanding} requests are not answered after {limit} steps")


def test_a_store_is_loaded_again() -> None:
    device, host = made()
    for dpa in (0, 64, 448, 512, SIZE - 64):
        host.store(hpa(device, dpa), LINE)
        (stored,) = finish(host)
        assert isinstance(stored.answer, Ndr)
        host.load(hpa(device, dpa))
        (loaded,) = finish(host)
        assert isinstance(loaded.answer, Drs)
        assert loaded.answer.data == device.memory[dpa : dpa + 64].tobytes() == LINE


def test_a_partial_write_changes_its_bytes_alone() -> None:
    device, host = made()
    before = device.memory.copy()
    host.store(hpa(device, 128), LINE, enables=0x8000_0000_0000_0005)
    finish(host)
    before[[128, 130, 191]] = [LINE[0], LINE[2], LINE[63]]
    assert np.array_equal(device.memory, before)


@pytest.mark.parametrize("opcode", [ReqOpcode.MEM_INV, ReqOpcode.MEM_INV_NT])
def test_invalidations_are_completed_without_data(opcode: ReqOpcode) -> None:
    device, host = made()
    host.load(hpa(device, 0), opcode)
    (done,) = finish(host)
    assert isinstance(done.answer, Ndr)


def test_a_speculative_read_is_never_answered() -> None:
    device, host = made()
    host.load(hpa(device, 0), ReqOpcode.MEM_SPEC_RD)
    assert finish(host) == [] and not host.outstanding
    assert device.request_credits[Channel.REQ].free == 8


def test_credits_bound_what_is_under_way() -> None:
    device, host = made(queue=2)
    host.load(hpa(device, 0))
    host.load(hpa(device, 64))
    assert not host.may(Channel.REQ, hpa(device, 128)) and host.may(Channel.RWD, hpa(device, 128))
    with pytest.raises(CxlError, match="may not go out"):
        host.load(hpa(device, 128))
    assert len(finish(host)) == 2
    assert all(credits.free == 2 for credits in (*device.request_credits.values(), *device.answer_credits.values()))


def test_a_device_without_answer_credits_waits() -> None:
    device, host = made()
    for _ in range(8):
        device.answer_credits[Channel.DRS].take()
    host.load(hpa(device, 0))
    assert [host.step() for _ in range(10)] == [[]] * 10
    host.store(hpa(device, 64), LINE)  # the other channel goes on
    assert [done.answer.channel for _ in range(4) for done in host.step()] == [Channel.NDR]
    device.answer_credits[Channel.DRS].give()
    assert len(finish(host)) == 1


def test_one_access_at_a_time_to_a_line() -> None:
    device, host = made()
    host.store(hpa(device, 0), LINE)
    with pytest.raises(CxlError, match="its line is busy"):
        host.load(hpa(device, 0))


def test_tags_are_used_again() -> None:
    device, host = made()
    host = CxlHost(device, tags=1)
    for _ in range(5):
        host.load(hpa(device, 0))
        assert not host.may(Channel.REQ, hpa(device, 64))
        finish(host)


def test_an_answer_that_nobody_waits_for() -> None:
    device, host = made()
    device._answers.append(Ndr(NdrOpcode.CMP, 3))
    with pytest.raises(CxlError, match="an answer has tag 3, which no open request has"):
        host.step()


def test_an_answer_of_the_wrong_channel() -> None:
    device, host = made()
    host.load(hpa(device, 0))
    device._answers.append(Ndr(NdrOpcode.CMP, 0))
    with pytest.raises(CxlError, match="tag 0 is answered with S2M NDR, expected S2M DRS"):
        host.step()


def test_poison_stays_until_a_whole_line_is_written() -> None:
    heard = []
    device, host = made(on_poison=lambda dpa, bad: heard.append((dpa, bad)))

    def poisoned() -> bool:
        host.load(hpa(device, 256))
        (done,) = finish(host)
        assert isinstance(done.answer, Drs)
        return done.answer.poison

    device.poison(256)
    assert poisoned()
    host.store(hpa(device, 256), LINE, enables=0xFF)
    finish(host)
    assert poisoned()
    host.store(hpa(device, 256), LINE)
    finish(host)
    assert not poisoned()
    host.store(hpa(device, 256), LINE, poison=True)
    finish(host)
    assert poisoned()
    assert heard == [(256, True), (256, False), (256, True)]


@pytest.mark.parametrize("where", ["another device's", "behind the memory", "nobody's"])
@pytest.mark.parametrize(
    ("options", "opcode", "poison"),
    [
        ({}, DrsOpcode.MEM_DATA, True),
        ({"poison_on_decode_error": False}, DrsOpcode.MEM_DATA, False),
        ({"nxm": True}, DrsOpcode.MEM_DATA_NXM, False),
    ],
)
def test_addresses_that_are_out_of_range(where: str, options: dict, opcode: DrsOpcode, poison: bool) -> None:
    device, host = made(**options)
    address = {"another device's": BASE, "behind the memory": hpa(device, SIZE), "nobody's": 0x40}[where]
    before = device.memory.copy()
    host.load(address)
    (loaded,) = finish(host)
    assert isinstance(loaded.answer, Drs)
    assert (loaded.answer.opcode, loaded.answer.poison) == (opcode, poison)
    assert loaded.answer.data == b"\xff" * 64
    host.store(address, LINE)
    (stored,) = finish(host)
    assert isinstance(stored.answer, Ndr) and device.dropped_writes == 1
    assert np.array_equal(device.memory, before)


def test_load_grows_with_the_queues() -> None:
    device, host = made()
    assert device.load == DevLoad.LIGHT
    seen = []
    for index in range(8):
        host.load(hpa(device, 64 * index))
        host.store(hpa(device, 64 * (index + 16)), LINE)
        seen.append(device.load)
    assert sorted(set(seen)) == list(DevLoad) and seen[-1] == DevLoad.SEVERE_OVERLOAD
    finish(host)
    assert device.load == DevLoad.LIGHT


def test_random_traffic_keeps_every_store() -> None:
    """Loads and stores in any order, against the scoreboard; flits carry what went over the link."""
    device, host = made()
    rng = np.random.default_rng(11)
    scoreboard = LineScoreboard(device.memory)
    lines = 0
    for _ in range(3000):
        for done in host.step():
            dpa = device.to_dpa(done.request.address)
            assert dpa is not None
            if isinstance(done.answer, Drs):
                scoreboard.loaded(done.answer.tag, done.answer.data)
            else:
                scoreboard.stored(dpa)
        dpa = 64 * int(rng.integers(SIZE // 64))
        address = hpa(device, dpa)
        if rng.random() < 0.5 and host.may(Channel.REQ, address):
            scoreboard.load(host.load(address).tag, dpa)
            lines += 1
        elif host.may(Channel.RWD, address):
            data, enables = rng.bytes(64), int.from_bytes(rng.bytes(8)) if rng.random() < 0.3 else (1 << 64) - 1
            scoreboard.store(dpa, data, enables)
            host.store(address, data, enables)
            lines += 1
    for done in finish(host):
        dpa = device.to_dpa(done.request.address)
        assert dpa is not None
        if isinstance(done.answer, Drs):
            scoreboard.loaded(done.answer.tag, done.answer.data)
        else:
            scoreboard.stored(dpa)
    scoreboard.check(device.memory)
    assert scoreboard.loads_checked > 500
    assert host.sent.line_bytes + host.received.line_bytes == 64 * lines
    assert host.sent.flits and host.received.flits
