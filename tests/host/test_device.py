"""The device API: what every backend shares. A small fake device stands in for the kernels."""

from __future__ import annotations

import dataclasses
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from speckv import frame
from speckv.design import Design
from speckv.device import BACKENDS, COMPRESS, DECOMPRESS, Capabilities, Device, native, open_device
from speckv.device.build import BuildLog, cached_build, content_hash
from speckv.device.packets import Answer, Batch, join_packets
from speckv.errors import CapabilityError, DesignError, DeviceError, FrameError, PageError, ToolError

DESIGN = dataclasses.replace(Design.load("tiny"), codecs=frame.CODEC_NAMES)


def sealed(record: np.ndarray) -> np.ndarray:
    """The header beat of a record [1], its checksum computed."""
    return np.frombuffer(frame.Header.from_record(record[0]).pack(), np.uint8)


class FakeDevice(Device):
    """Answers like the raw codec; `spoil` may change the bytes of an answer before it is returned."""

    backend = "fake"
    evidence = "model"

    def __init__(self, spoil=None) -> None:
        super().__init__(DESIGN, Capabilities())
        self.spoil = spoil or (lambda kernel, packets: None)
        self.released = 0
        self.running = 0
        self.most_running = 0

    def _execute(self, kernel: str, batch: Batch, timeout_cycles: int | None) -> Answer:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        time.sleep(0.001)
        answer = self._compress if kernel == COMPRESS else self._decompress
        packets = [answer(packet) for packet in batch.split()]
        self.spoil(kernel, packets)
        self.running -= 1
        return Answer(np.concatenate(packets), np.array([len(packet) for packet in packets], np.uint32))

    @staticmethod
    def _compress(packet: np.ndarray) -> np.ndarray:
        made = packet.copy()
        record = made[:1].view(frame.HEADER_DTYPE)[:, 0]
        record["payload_bytes"] = packet[1:].nbytes
        record["codec"] = frame.Codec.RAW
        record["payload_crc"] = record["raw_crc"] = frame.crc32c(packet[1:].tobytes())
        made[0] = sealed(record)
        return made

    @staticmethod
    def _decompress(packet: np.ndarray) -> np.ndarray:
        return np.concatenate([packet[1:], packet[:1]])

    def _reset(self) -> None:
        pass

    def _release(self) -> None:
        self.released += 1


def random_pages(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 1 << 16, shape, dtype=np.uint16)


# ---------------------------------------------------------------------------------------------- packets


@pytest.mark.parametrize(
    ("packet", "complaint"),
    [
        (b"x" * 64, "packet 1 is a bytes, expected a C-contiguous uint8 array"),
        (np.zeros((1, 64), np.int8), r"packet 1 is int8 \[1, 64\]"),
        (np.zeros((1, 63), np.uint8), r"packet 1 is uint8 \[1, 63\]"),
        (np.zeros(64, np.uint8), r"packet 1 is uint8 \[64\]"),
        (np.zeros((0, 64), np.uint8), r"packet 1 is uint8 \[0, 64\]"),
        (np.zeros((4, 64), np.uint8)[::2], "packet 1 is not contiguous"),
    ],
)
def test_malformed_packets_are_named(packet: object, complaint: str) -> None:
    good = np.zeros((1, 64), np.uint8)
    with pytest.raises(DeviceError, match=complaint):
        FakeDevice().run(DECOMPRESS, [good, packet])


@pytest.mark.parametrize(
    ("keeps", "complaint"),
    [
        ([], "0 TKEEP arrays for 1 packets"),
        ([np.zeros(1, np.uint64)], r"TKEEP of packet 0: expected None or a uint64 array \[2\]"),
        ([np.zeros(2, np.int64)], "TKEEP of packet 0"),
    ],
)
def test_malformed_keeps_are_named(keeps: list, complaint: str) -> None:
    with pytest.raises(DeviceError, match=complaint):
        FakeDevice().run(DECOMPRESS, [np.zeros((2, 64), np.uint8)], keeps=keeps)


def test_an_empty_batch_is_a_no_op() -> None:
    device = FakeDevice()
    result = device.run(COMPRESS, [])
    assert result.packets == [] and device.most_running == 0
    assert device.decode([]).pages.shape == (0, 0, 0)
    encoded = device.encode(np.zeros((0, 4, 32), np.uint16))
    assert encoded.frames == [] and encoded.ratio == 1.0


def test_packets_keep_their_order_and_lengths() -> None:
    rng = np.random.default_rng(1)
    packets = [rng.integers(0, 256, (beats, 64), dtype=np.uint8) for beats in (1, 5, 2, 9)]
    result = FakeDevice().run(DECOMPRESS, packets)
    for sent, got in zip(packets, result.packets, strict=True):
        assert np.array_equal(got, np.concatenate([sent[1:], sent[:1]]))
    assert result.cycles is None and result.spans is None


def test_unknown_kernel() -> None:
    with pytest.raises(CapabilityError, match="has no kernel 'kv_prefetch'; it has kv_compress, kv_decompress"):
        FakeDevice().run("kv_prefetch", [np.zeros((1, 64), np.uint8)])


def test_timeout_must_be_positive() -> None:
    with pytest.raises(DeviceError, match="timeout_cycles is 0"):
        FakeDevice().run(COMPRESS, [np.zeros((1, 64), np.uint8)], timeout_cycles=0)


@pytest.mark.parametrize("timeout", [1.5, "9", True, 1 << 64, -1, [1]])
def test_timeout_must_be_an_integer(timeout: object) -> None:
    for call in (
        lambda device: device.run(COMPRESS, [np.zeros((1, 64), np.uint8)], timeout_cycles=timeout),
        lambda device: device.encode(random_pages(4, 32), timeout_cycles=timeout),
        lambda device: device.decode([bytes(64)], timeout_cycles=timeout),
    ):
        with pytest.raises(DeviceError, match=f"timeout_cycles is .*, expected an integer from 1 to {2**64 - 1}"):
            call(FakeDevice())


@pytest.mark.parametrize("kernel", [None, 3, ["kv_compress"], np.zeros(2)])
def test_a_kernel_is_named_by_text(kernel: object) -> None:
    with pytest.raises(CapabilityError, match="has no kernel"):
        FakeDevice().run(kernel, [np.zeros((1, 64), np.uint8)])  # type: ignore[arg-type]


@pytest.mark.parametrize("packets", [None, 3, "packets", bytes(64), {1: 2}, np.uint8(3)])
def test_packets_must_be_a_list(packets: object) -> None:
    with pytest.raises(DeviceError, match=r"packets are .*, expected a list of uint8 arrays \[beats, 64\]"):
        FakeDevice().run(COMPRESS, packets)  # type: ignore[arg-type]


def test_packets_that_end_inside_a_beat() -> None:
    """What is missing is zeros with a TKEEP of zero, and the caller's arrays stay as they are."""
    packet = np.full((2, 64), 255, np.uint8)
    keep = np.array([~np.uint64(0), ~np.uint64(0)])
    batch = join_packets([packet, packet], [None, keep], [0, 3], 4)
    assert (batch.data[:3] == 255).all() and (batch.data[3, :16] == 255).all() and not batch.data[3, 16:].any()
    assert batch.keep is not None and batch.keep.tolist() == [*[(1 << 64) - 1] * 3, 0xFFFF]
    assert batch.missing_words is not None and batch.missing_words.tolist() == [0, 3]
    assert (packet == 255).all() and (keep == ~np.uint64(0)).all()


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [([1], "missing_words is 1"), ([0, 0], "2 numbers of missing words for 1 packets"), (3, "missing_words are 3")],
)
def test_words_that_cannot_be_missing(missing: Any, complaint: str) -> None:
    """A bus of whole beats lacks none."""
    with pytest.raises(DeviceError, match=complaint):
        FakeDevice().run(COMPRESS, [np.zeros((1, 64), np.uint8)], missing_words=missing)


@pytest.mark.parametrize("keeps", [3, "keeps", {1}])
def test_keeps_must_be_a_list(keeps: object) -> None:
    with pytest.raises(DeviceError, match=r"keeps are .*, expected None, or a list"):
        FakeDevice().run(COMPRESS, [np.zeros((1, 64), np.uint8)], keeps=keeps)  # type: ignore[arg-type]


def test_packets_may_come_from_a_generator() -> None:
    packets = [np.full((beats, 64), beats, np.uint8) for beats in (1, 3)]
    assert len(FakeDevice().run(DECOMPRESS, (one for one in packets)).packets) == 2  # type: ignore[arg-type]


def test_use_after_close() -> None:
    device = FakeDevice()
    with device:
        assert not device.closed
    device.close()
    assert device.closed and device.released == 1
    for use in (
        lambda: device.run(COMPRESS, []),
        lambda: device.encode(random_pages(1, 32)),
        lambda: device.decode([]),
        device.reset,
        device.__enter__,
    ):
        with pytest.raises(DeviceError, match="is closed: open a new one"):
            use()


def test_calls_from_threads_do_not_overlap() -> None:
    device = FakeDevice()
    pages = random_pages(4, 2, 32)
    results: list[np.ndarray] = []

    def work() -> None:
        results.append(np.asarray(device.decode(device.encode(pages).frames).pages))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert device.most_running == 1
    assert len(results) == 8 and all(np.array_equal(one, pages) for one in results)


# ------------------------------------------------------------------------------------------------ pages


@pytest.mark.parametrize(
    ("pages", "complaint"),
    [
        ([[1, 2]], "pages are a list; pass a numpy array"),
        (np.zeros((2, 32), np.float32), "dtype float32, expected uint16 holding bf16 or fp16 bits"),
        (np.zeros((2, 32), ">u2"), "dtype >u2"),
        (np.zeros(32, np.uint16), r"shape \[32\], expected \[tokens, channels\]"),
        (np.zeros((1, 1, 1, 32), np.uint16), r"shape \[1, 1, 1, 32\]"),
        (np.zeros((0, 32), np.uint16), "a page has 0 tokens.*leave empty pages out"),
        (np.zeros((65, 32), np.uint16), "a page has 65 tokens, design tiny takes 1 to 64: split"),
        (np.zeros((1, 0), np.uint16), "a page has 0 channels"),
        (np.zeros((1, 33), np.uint16), "a page has 33 channels.*multiples of 32 up to 256"),
        (np.zeros((1, 288), np.uint16), "a page has 288 channels"),
    ],
)
def test_bad_pages_are_refused(pages: object, complaint: str) -> None:
    with pytest.raises(PageError, match=complaint):
        FakeDevice().encode(pages)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"codec": "zip"}, "codec is 'zip', expected one of raw, planes, .*, compact; choose one of these"),
        ({"codec": "quant4-rotated", "kind": "K"}, "codec quant4-rotated is for V alone, got kind K"),
        ({"dtype": "fp8"}, "dtype is 'fp8', expected one of bf16, fp16"),
        ({"codec": 1}, "codec is 1, expected"),
        ({"kind": "Q"}, "kind is 'Q', expected one of K, V"),
        (
            {"namespace": 1 << 64},
            "namespace is 18446744073709551616, expected an integer from 0 to 18446744073709551615",
        ),
        ({"namespace": -1}, "namespace is -1"),
        ({"generation": 1 << 32}, "generation is 4294967296, expected an integer from 0 to 4294967295"),
        ({"generation": 1 << 20_000}, "generation is a value of type int of 20001 bits"),
        ({"generation": True}, r"generation is True \(bool\), expected an integer"),
        ({"namespace": 1.0}, r"namespace is 1\.0 \(float\)"),
        ({"namespace": "7"}, r"namespace is '7' \(str\)"),
        ({"namespace": None}, r"namespace is None \(NoneType\)"),
        ({"keys": [1, 2.5]}, r"key of page 1 is 2\.5 \(float\)"),
        ({"keys": [1, False]}, r"key of page 1 is False \(bool\)"),
        ({"keys": np.array([1.0, 2.0])}, "key of page 0 is"),
        ({"keys": {1, 2}}, r"keys are \{1, 2\} \(set\), expected a sequence of integers: pass a list"),
        ({"keys": "12"}, r"keys are '12' \(str\)"),
        ({"keys": (key for key in (1, 2))}, r"keys are .*\(generator\)"),
        ({"keys": 5}, r"keys are 5 \(int\)"),
        ({"keys": np.zeros((2, 1), int)}, r"keys are .*\(ndarray\)"),
        ({"keys": [1]}, "1 keys for 2 pages"),
        ({"keys": [1, -2]}, "key of page 1 is -2"),
    ],
)
def test_bad_request_fields_are_refused(options: dict, complaint: str) -> None:
    with pytest.raises(PageError, match=complaint):
        FakeDevice().encode(random_pages(2, 3, 32), **options)


def test_integers_of_numpy_are_keys() -> None:
    keys = np.array([3, 1 << 40], np.uint64)
    encoded = FakeDevice().encode(random_pages(2, 3, 32), keys=keys, generation=np.uint8(4), codec="raw")
    headers = [frame.Header.unpack(one) for one in encoded.frames]
    assert [header.page_key for header in headers] == [3, 1 << 40] and headers[0].generation == 4


def test_codec_that_the_design_lacks() -> None:
    device = FakeDevice()
    device.design = Design.from_mapping("rawonly", {**DESIGN.parameters(), "codecs": ["raw"]})
    with pytest.raises(PageError, match="codec is 'quant8', expected one of raw"):
        device.encode(random_pages(1, 32), codec="quant8")


def test_requests_of_compact_and_fp16() -> None:
    device = FakeDevice()
    for kind, codec in (("K", "quant4-prefix"), ("V", "quant3-rotated-prefix")):
        encoded = device.encode(random_pages(2, 64, 64), codec="compact", kind=kind, dtype="fp16")
        header = frame.Header.unpack(encoded.frames[0])
        assert frame.Codec(header.requested_codec).label == codec and header.dtype == frame.Dtype.FP16


@pytest.mark.parametrize("shape", [(1, 32), (3, 64), (1, 1, 32), (5, 64, 256)])
def test_round_trip(shape: tuple[int, ...]) -> None:
    pages = random_pages(*shape)
    device = FakeDevice()
    encoded = device.encode(pages, kind="V", namespace=(1 << 64) - 1, generation=3)
    whole = pages.reshape(-1, *shape[-2:])
    assert encoded.raw_bytes == pages.nbytes
    assert encoded.encoded_bytes == pages.nbytes + 64 * len(whole) == sum(map(len, encoded.frames))
    assert encoded.ratio == encoded.raw_bytes / encoded.encoded_bytes
    header = frame.Header.unpack(encoded.frames[-1])
    assert (header.namespace, header.page_key, header.generation) == ((1 << 64) - 1, len(whole) - 1, 3)
    assert (header.kind, header.requested_codec) == (frame.Kind.V, frame.Codec.QUANT8)
    decoded = device.decode(encoded.frames).pages
    assert decoded.dtype == np.uint16 and np.array_equal(decoded, whole)


def test_pages_that_are_not_contiguous() -> None:
    pages = random_pages(4, 8, 64)[::2, ::-1]
    device = FakeDevice()
    assert np.array_equal(device.decode(device.encode(pages).frames).pages, pages)


def test_pages_of_several_geometries_come_back_as_a_list() -> None:
    device = FakeDevice()
    pages = [random_pages(2, 64), random_pages(4, 32), random_pages(1, 256)]
    frames = [frame for page in pages for frame in device.encode(page).frames]
    decoded = device.decode(frames).pages
    assert isinstance(decoded, list)
    for got, page in zip(decoded, pages, strict=True):
        assert np.array_equal(got, page)


def test_one_frame_may_be_given_alone() -> None:
    device = FakeDevice()
    page = random_pages(2, 32)
    assert np.array_equal(device.decode(device.encode(page).frames[0]).pages, page[np.newaxis])


# ------------------------------------------------------------------------------------- checks of answers


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("magic", 1),
        ("kind", 1),
        ("tokens", 9),
        ("namespace", 9),
        ("page_key", 0),
        ("generation", 9),
        ("requested_codec", 0),
        ("raw_bytes", 64),
        ("payload_bytes", 64),
        ("reserved", 1),
        ("codec", 7),
        ("header_crc", 1),
        ("payload_crc", 1),
    ],
)
def test_a_frame_that_does_not_fit_its_request_is_refused(field: str, value: int) -> None:
    def spoil(kernel: str, packets: list[np.ndarray]) -> None:
        record = packets[1][:1].view(frame.HEADER_DTYPE)[:, 0]
        record[field] = value
        if field != "header_crc":
            packets[1][0] = sealed(record)

    with pytest.raises(DeviceError, match=f"kv_compress, page 1: {field} of the answer is"):
        FakeDevice(spoil).encode(random_pages(3, 4, 32))


def test_a_refused_request_is_a_device_error() -> None:
    def spoil(kernel: str, packets: list[np.ndarray]) -> None:
        packets[2] = packets[2][:1].copy()
        packets[2].view(frame.HEADER_DTYPE)["status"] = frame.Status.BAD_GEOMETRY

    with pytest.raises(DeviceError, match=r"refused page 2 of 3: status 7 \(BAD_GEOMETRY\)"):
        FakeDevice(spoil).encode(random_pages(3, 4, 32))


def status_spoiler(index: int, status: int):
    def spoil(kernel: str, packets: list[np.ndarray]) -> None:
        if kernel == DECOMPRESS:
            if status < frame.Status.TRUNCATED:
                packets[index] = packets[index][-1:].copy()
            packets[index][-1, frame.field_offset("status")] = status

    return spoil


@pytest.mark.parametrize("status", [one for one in frame.Status if one])
def test_every_status_becomes_a_frame_error(status: frame.Status) -> None:
    device = FakeDevice(status_spoiler(1, status))
    with pytest.raises(FrameError) as caught:
        device.decode(device.encode(random_pages(3, 4, 32)).frames)
    assert caught.value.status == status
    for part in ("frame 1", f"status {status.value} ({status.name})", status.sentence, status.remedy):
        assert part in str(caught.value)


def test_an_unknown_status_is_an_error_too() -> None:
    device = FakeDevice(status_spoiler(0, 200))
    with pytest.raises(FrameError, match="frame 0: status 200, which this format version does not know"):
        device.decode(device.encode(random_pages(1, 32)).frames)


def test_an_answer_for_another_frame_is_refused() -> None:
    def spoil(kernel: str, packets: list[np.ndarray]) -> None:
        if kernel == DECOMPRESS:
            packets[0], packets[1] = packets[1], packets[0]

    device = FakeDevice(spoil)
    with pytest.raises(DeviceError, match="kv_decompress, page 0: payload_crc of the answer"):
        device.decode(device.encode(random_pages(2, 4, 32)).frames)


def test_a_page_of_the_wrong_length_is_refused() -> None:
    def spoil(kernel: str, packets: list[np.ndarray]) -> None:
        if kernel == DECOMPRESS:
            packets[1] = packets[1][1:]

    device = FakeDevice(spoil)
    with pytest.raises(DeviceError, match="page 1: length in bytes of the answer is 192, expected 256"):
        device.decode(device.encode(random_pages(2, 4, 32)).frames)


def test_a_lost_packet_is_refused() -> None:
    with pytest.raises(DeviceError, match="kv_compress answered 2 packets with 1"):
        FakeDevice(lambda kernel, packets: packets.pop()).encode(random_pages(2, 4, 32))


@pytest.mark.parametrize("length", [0, 63, 65, 100])
def test_frames_that_are_not_whole_beats(length: int) -> None:
    with pytest.raises(FrameError, match=f"frame 1 has {length} bytes"):
        FakeDevice().decode([bytes(64), bytes(length)])


def test_frames_may_come_from_any_iterable() -> None:
    device = FakeDevice()
    pages = random_pages(3, 4, 32)
    made = device.encode(pages, codec="raw").frames
    mixed = [made[0], memoryview(made[1]), np.frombuffer(made[2], np.uint8)]
    for frames in (iter(made), (one for one in made), tuple(made), map(bytearray, made), mixed):
        assert np.array_equal(device.decode(frames).pages, pages)
    assert np.array_equal(device.decode(np.frombuffer(made[0], np.uint8)).pages, pages[:1])


@pytest.mark.parametrize(
    ("frames", "complaint"),
    [
        ([bytes(64), "x" * 64], "frame 1 is a str, expected bytes or uint8"),
        ([None], "frame 0 is a NoneType"),
        ([64], "frame 0 is a int"),
        ([bytes(64), np.zeros(64, np.int8)], "frame 1 is an array of int8"),
        ([np.zeros(32, np.uint16)], "frame 0 is an array of uint16"),
        (np.zeros(16, np.float32), "frame 0 is an array of float32"),
        ([memoryview(np.zeros(16, np.uint32))], "frame 0 is a memoryview of format 'I'"),
        ([np.zeros(128, np.uint8)[::2]], "frame 0: the buffer is not contiguous"),
        (None, r"frames are None \(NoneType\), expected a list of bytes"),
        (3, "frames are 3"),
        ("x" * 64, "frames are 'x"),
        ({bytes(64)}, r"frames are .*\(set\)"),
    ],
)
def test_what_is_no_frame_is_named(frames: object, complaint: str) -> None:
    with pytest.raises(FrameError, match=complaint):
        FakeDevice().decode(frames)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- open


@pytest.mark.parametrize("design", [None, 3, {"bus_bits": 512}, b"tiny"])
def test_what_is_no_design_is_named(design: object) -> None:
    with pytest.raises(DesignError, match="expected a name or a path; pass a str or Path"):
        open_device(design)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", [["cosim"], None, 3])
def test_what_is_no_backend_is_named(backend: object) -> None:
    with pytest.raises(DeviceError, match=r"backend is .*, expected one of software, csim, cosim"):
        open_device("tiny", backend=backend)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"stuck_cycles": 0}, "stuck_cycles is 0, expected an integer from 1"),
        ({"stuck_cycles": 1.5}, r"stuck_cycles is 1\.5 \(float\)"),
        ({"stuck_cycles": 1 << 64}, "stuck_cycles is 18446744073709551616"),
        ({"stuck_cycles": True}, r"stuck_cycles is True \(bool\)"),
        ({"seed": -1}, "seed is -1, expected an integer from 0 to 18446744073709551615"),
        ({"seed": "1"}, r"seed is '1' \(str\)"),
        ({"seed": None}, "seed is None"),
        ({"idle": "0.5"}, r"idle is '0\.5' \(str\), expected a probability"),
        ({"idle": float("nan")}, "idle is nan"),
        ({"stall": None}, "stall is None"),
        ({"stall": True}, "stall is True"),
        ({"rtl": 3}, "rtl is 3"),
        ({"waveform": 3}, "waveform is 3"),
        ({"progress": "loud"}, "progress is 'loud'"),
    ],
)
def test_wrong_options_of_cosim_are_named(options: dict, complaint: str) -> None:
    with pytest.raises(DeviceError, match=complaint):
        open_device("tiny", "cosim", **options)


@pytest.mark.parametrize(("options", "complaint"), [({"ap_types": 3}, "ap_types is 3"), ({"progress": 1}, "progress")])
def test_wrong_options_of_csim_are_named(options: dict, complaint: str) -> None:
    with pytest.raises(DeviceError, match=complaint):
        open_device("tiny", "csim", **options)


def test_unknown_backend_lists_the_known() -> None:
    with pytest.raises(DeviceError, match="backend is 'pynk', expected one of software, csim, cosim"):
        open_device("tiny", backend="pynk")


@pytest.mark.parametrize("backend", BACKENDS)
def test_unknown_option_is_refused(backend: str) -> None:
    with pytest.raises(DeviceError, match=f"backend {backend} has no option 'speed'"):
        open_device("tiny", backend=backend, speed=1)


def test_unknown_design() -> None:
    with pytest.raises(DesignError):
        open_device("no-such-design")


# ----------------------------------------------------------------------------------------------- builds


def touch(work: Path, log: BuildLog) -> None:
    (work / "made").write_text("x")


def test_a_build_is_made_once_per_content(tmp_path: Path) -> None:
    calls: list[str] = []

    def build(text: str) -> Path:
        return cached_build(tmp_path, "unit", {"text": text}, touch, on_build=lambda: calls.append(text))

    assert build("a") == build("a")
    assert build("a") != build("b")
    assert calls == ["a", "b"]
    assert (build("a") / "made").read_text() == "x"


def library(work: Path, log: BuildLog) -> None:
    (work / "libunit.so").write_bytes(b"\x7fELF and so on")


@pytest.mark.parametrize("damage", ["truncated", "changed", "removed", "no stamp", "foreign stamp", "additional"])
def test_a_damaged_build_is_made_anew(tmp_path: Path, damage: str) -> None:
    made = cached_build(tmp_path, "unit", {}, library)
    good = (made / "libunit.so").read_bytes()
    if damage == "truncated":
        (made / "libunit.so").write_bytes(good[:5])
    elif damage == "changed":
        (made / "libunit.so").write_bytes(good.replace(b"and", b"or "))
    elif damage == "removed":
        (made / "libunit.so").unlink()
    elif damage == "no stamp":
        (made / "stamp.json").unlink()
    elif damage == "foreign stamp":
        (made / "stamp.json").write_text("[" * 100_000)
    else:
        (made / "libother.so").touch()
    calls: list[str] = []
    assert cached_build(tmp_path, "unit", {}, library, on_build=lambda: calls.append("again")) == made
    assert calls == ["again"] and (made / "libunit.so").read_bytes() == good
    cached_build(tmp_path, "unit", {}, library, on_build=lambda: calls.append("a third time"))
    assert calls == ["again"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [made.name, made.name + ".lock"]


def test_a_file_where_the_build_should_be(tmp_path: Path) -> None:
    made = cached_build(tmp_path, "unit", {}, touch)
    shutil.rmtree(made)
    made.write_text("mine")
    with pytest.raises(ToolError, match=f"{made} is no folder, expected a finished build: delete it and run again"):
        cached_build(tmp_path, "unit", {}, touch)
    assert made.read_text() == "mine"


def test_a_library_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    path = tmp_path / "libkernel.so"
    for content in (b"", b"no library at all"):
        path.write_bytes(content)
        with pytest.raises(ToolError, match=rf"{path} cannot be loaded \(.*\): delete the folder {tmp_path} and run"):
            native.load(path, {})


def test_content_hash_tells_names_from_contents() -> None:
    assert content_hash({"ab": "c"}) != content_hash({"a": "bc"})
    assert content_hash({"a": "1", "b": "2"}) == content_hash({"b": "2", "a": b"1"})


def test_a_failed_build_leaves_its_log_and_nothing_else(tmp_path: Path) -> None:
    def fail(work: Path, log: BuildLog) -> None:
        log.run(["sh", "-c", "echo this is why; exit 3"], cwd=work)

    with pytest.raises(ToolError, match=r"(?s)building unit failed; the end of .*unit-.*this is why\n.*exit code 3"):
        cached_build(tmp_path, "unit", {"a": "b"}, fail)
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".lock", ".log"]
    assert cached_build(tmp_path, "unit", {"a": "b"}, touch).is_dir()


def test_a_program_that_cannot_start_is_a_failed_build(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="No such file"):
        cached_build(tmp_path, "unit", {}, lambda work, log: log.run(["/no/such/program"], cwd=work))


def test_two_threads_share_one_build(tmp_path: Path) -> None:
    calls: list[int] = []

    def slow(work: Path, log: BuildLog) -> None:
        calls.append(1)
        time.sleep(0.05)
        touch(work, log)

    threads = [threading.Thread(target=cached_build, args=(tmp_path, "unit", {"a": "b"}, slow)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_a_build_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_the_way = tmp_path / "build"
    monkeypatch.setenv("SPECKV_BUILD", str(in_the_way))
    in_the_way.write_text("a file where the folder should be")
    with pytest.raises(ToolError, match=f"{in_the_way}.*SPECKV_BUILD"):
        cached_build(in_the_way / "tiny", "unit", {}, touch)
