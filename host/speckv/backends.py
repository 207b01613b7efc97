"""The backends by name; here so that the command knows them where no package is installed."""

BACKENDS = {
    "software": ("speckv.device.software", "SoftwareDevice"),
    "csim": ("speckv.device.csim", "CsimDevice"),
    "cosim": ("speckv.device.cosim", "CosimDevice"),
}
"""Backend: module and class."""
