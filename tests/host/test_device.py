"""The device API: what every backend shares. A small fake device stands in for the kernels."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from speckv import frame
from speckv.design import Design
from speckv.device import BACKENDS, COMPRESS, DECOMPRESS, Capabilities, Device, open_device
from speckv.device.build import BuildLog, cached_build, content_hash
from speckv.device.packets import Answer, Batch
from speckv.errors import CapabilityError, DesignError, DeviceError, FrameError, PageError, ToolError

DESIGN = Design.load("tiny")


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
    with pytest.raises(
        CapabilityError, match="has no kernel 'kv_prefetch'; it has kv_compress, kv_decompress"
    ):
        FakeDevice().run("kv_prefetch", [np.zeros((1, 64), np.uint8)])


def test_timeout_must_be_positive() -> None:
    with pytest.raises(DeviceError, match="timeout_cycles is 0"):
        FakeDevice().run(COMPRESS, [np.zeros((1, 64), np.uint8)], timeout_cycles=0)


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
        (np.zeros((2, 32), np.float32), "dtype float32, expected uint16 holding bf16 bits"),
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
        ({"codec": "zip"}, "codec is 'zip', expected one of raw, int8"),
        ({"codec": 1}, "codec is 1, expected"),
        ({"kind": "Q"}, "kind is 'Q', expected one of K, V"),
        ({"namespace": 1 << 64}, "namespace is 18446744073709551616, expected an unsigned 64-bit number"),
        ({"namespace": -1}, "namespace is -1"),
        ({"generation": 1 << 32}, "generation is 4294967296, expected an unsigned 32-bit number"),
        ({"keys": [1]}, "1 keys for 2 pages"),
        ({"keys": [1, -2]}, "key of page 1 is -2"),
    ],
)
def test_bad_request_fields_are_refused(options: dict, complaint: str) -> None:
    with pytest.raises(PageError, match=complaint):
        FakeDevice().encode(random_pages(2, 3, 32), **options)


def test_codec_that_the_design_lacks() -> None:
    device = FakeDevice()
    device.design = Design.from_mapping("rawonly", {**DESIGN.parameters(), "codecs": ["raw"]})
    with pytest.raises(PageError, match="codec is 'int8', expected one of raw"):
        device.encode(random_pages(1, 32), codec="int8")


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
    assert (header.kind, header.requested_codec) == (frame.Kind.V, frame.Codec.INT8)
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


# ------------------------------------------------------------------------------------------------- open


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


def test_content_hash_tells_names_from_contents() -> None:
    assert content_hash({"ab": "c"}) != content_hash({"a": "bc"})
    assert content_hash({"a": "1", "b": "2"}) == content_hash({"b": "2", "a": b"1"})


def test_a_failed_build_leaves_its_log_and_nothing_else(tmp_path: Path) -> None:
    def fail(work: Path, log: BuildLog) -> None:
        log.run(["sh", "-c", "echo this is why; exit 3"], cwd=work)

    with pytest.raises(
        ToolError, match=r"(?s)building unit failed; the end of .*unit-.*this is why\n.*exit code 3"
    ):
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

    threads = [
        threading.Thread(target=cached_build, args=(tmp_path, "unit", {"a": "b"}, slow)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_a_build_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    in_the_way = tmp_path / "build"
    in_the_way.write_text("a file where the folder should be")
    with pytest.raises(ToolError, match=f"{in_the_way}.*SPECKV_BUILD"):
        cached_build(in_the_way / "tiny", "unit", {}, touch)
