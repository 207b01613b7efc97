"""Files for AMD's tools, the steps that build a bitstream with them, and checks of both that need none of the tools."""
