"""CXL.mem as a device sees it: messages, flits, credits, address decoding, and a memory device with its host.

The source is the Compute Express Link specification, which is public: messages 3.3, slots of 68-byte flits 4.2.3 and
how they are packed 4.2.5, HDM decoders 8.2.4.20 (numbers of revision 3). Encodings agree with those that open projects
publish: OpenCIS (opcodes, answers) and Linux drivers/cxl (interleave ways, granularity and positions).

It is for a device of Type 3 whose memory the host alone caches (HDM-H): no snoops, no bias, no metadata. Link retry,
control flits (credits cost nothing here), IDE, and flits of 256 bytes are not modelled.
"""
