"""cocotb benches of the kernels. They run on any RTL with the kernels' ports; see README.md."""
