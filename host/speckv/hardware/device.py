"""The codec on a board: its streams end at kv_dma, so that pages are offloaded and frames fetched through memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speckv import frame, model
from speckv.device.base import COMPRESS, Capabilities, Device
from speckv.device.packets import Answer, Batch
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, DmaStatus, Op, describe
from speckv.errors import DeviceError
from speckv.frame import HEADER_BYTES, Header

if TYPE_CHECKING:
    from speckv.design import Design
    from speckv.hardware.dma import BoardEngine

_SLOTS = 16
"""Pages of a run."""


class BoardDevice(Device):
    """kv_compress and kv_decompress behind an engine that `open_engine(design, near_bytes, far_bytes)` opens.

    Pages in, frames out, and back. Packets of other contents do not reach the codec, and nothing resets it.
    """

    evidence: str = "board"

    def __init__(self, design: Design, open_engine: Callable[[Design, int, int], BoardEngine]) -> None:
        super().__init__(design, Capabilities(packets=False, reset=False))
        self._raw_bytes = 2 * design.max_tokens * design.max_channels
        self._frame_bytes = self._raw_bytes + HEADER_BYTES
        self._engine = open_engine(design, _SLOTS * self._raw_bytes, _SLOTS * self._frame_bytes)
        self.evidence = self._engine.evidence

    @property
    def facts(self) -> dict[str, str]:
        """What the board is, for reports."""
        return self._engine.facts()

    def _execute(self, kernel: str, batch: Batch, timeout_cycles: int | None) -> Answer:
        through = self._offload if kernel == COMPRESS else self._fetch
        packets, answers = batch.split(), []
        for first in range(0, len(packets), _SLOTS):
            answers += through(packets[first : first + _SLOTS], timeout_cycles)
        return Answer(np.concatenate(answers), np.array([len(answer) for answer in answers], np.uint32))

    def _offload(self, packets: Sequence[NDArray[np.uint8]], timeout_cycles: int | None) -> list[NDArray[np.uint8]]:
        """Frames of requests, which hold pages that the design takes."""
        descriptors = []
        for slot, packet in enumerate(packets):
            page = packet[1:].reshape(-1)
            start = slot * self._raw_bytes
            self._engine.near[start : start + len(page)] = page
            request = Header.unpack(packet[0])
            descriptors.append(self._descriptor(Op.OFFLOAD, slot, request, self._frame_bytes))
        done = self._engine.run(descriptors, timeout_cycles=timeout_cycles).completions
        answers = []
        for slot, (packet, completion) in enumerate(zip(packets, done, strict=True)):
            if completion["status"] == DmaStatus.ENGINE:
                answers.append(_answer(packet[0], int(completion["engine_status"])))
                continue
            if completion["status"]:
                raise DeviceError(f"kv_dma, page {slot}: {describe(descriptors, done)}")
            start = slot * self._frame_bytes
            image = self._engine.far[start : start + int(completion["frame_bytes"])]
            answers.append(image.reshape(-1, BEAT_BYTES).copy())
        return answers

    def _fetch(self, packets: Sequence[NDArray[np.uint8]], timeout_cycles: int | None) -> list[NDArray[np.uint8]]:
        """Pages of frames, which may be damaged."""
        descriptors = []
        headers = [Header.unpack(packet[0]) for packet in packets]
        for slot, (packet, header) in enumerate(zip(packets, headers, strict=True)):
            if packet.nbytes <= self._frame_bytes and header.raw_bytes <= self._raw_bytes:
                start = slot * self._frame_bytes
                self._engine.far[start : start + packet.nbytes] = packet.reshape(-1)
                descriptors.append(self._descriptor(Op.FETCH, slot, header, packet.nbytes))
            else:
                descriptors.append(Descriptor(Op.COPY))  # of nothing: no page of this design can be in there
        done = self._engine.run(descriptors, timeout_cycles=timeout_cycles).completions
        answers = []
        for slot, (packet, header, completion) in enumerate(zip(packets, headers, done, strict=True)):
            match int(completion["status"]):
                case DmaStatus.OK if descriptors[slot].op == Op.FETCH:
                    start = slot * self._raw_bytes
                    page = self._engine.near[start : start + header.raw_bytes].reshape(-1, BEAT_BYTES)
                    answers.append(np.concatenate([page, _answer(packet[0], 0)]))
                case DmaStatus.ENGINE:
                    answers.append(_answer(packet[0], int(completion["engine_status"])))
                case DmaStatus.READ_ERROR | DmaStatus.WRITE_ERROR:
                    raise DeviceError(f"kv_dma, frame {slot}: {describe(descriptors, done)}")
                case _:  # kv_dma did not show it to the codec: the header is not the frame's
                    answers.append(model.decompress_packet(self.design, packet)[-1:])
        return answers

    def _descriptor(self, op: Op, slot: int, header: Header, frame_bytes: int) -> Descriptor:
        return Descriptor(
            op,
            near=slot * self._raw_bytes,
            far=slot * self._frame_bytes,
            raw_bytes=header.raw_bytes,
            frame_bytes=frame_bytes,
            codec=header.codec,
            kind=header.kind,
            dtype=header.dtype,
            tokens=header.tokens,
            channels=header.channels,
            generation=header.generation,
            namespace=header.namespace,
            page_key=header.page_key,
        )

    def _reset(self) -> None:
        """Nothing calls it: the capabilities say so."""

    def _release(self) -> None:
        self._engine.close()


def _answer(header: NDArray[np.uint8], status: int) -> NDArray[np.uint8]:
    """The codec's last beat for a packet: its header with a status, uint8 [1, 64]."""
    answer = header.reshape(1, BEAT_BYTES).copy()
    answer[0, frame.field_offset("status")] = status
    return answer
