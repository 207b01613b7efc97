"""CXL.mem as a device sees it: messages, flits, credits, address decoding, and a memory device with its host.

Names and encodings are those of the Compute Express Link specification, revision 2.0: messages 3.3, flits of 68 bytes
and their slots 4.2, HDM decoders 8.2.5.12, poison 3.3 and 12. Encodings were checked against what open projects publish:
OpenCIS (opcodes, slot fields), Linux drivers/cxl (interleave ways and granularity, positions), QEMU hw/mem/cxl_type3.c.

It is for a device of Type 3 whose memory the host alone caches (HDM-H): no snoops, no bias, no metadata.
"""
