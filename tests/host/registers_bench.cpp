// A kernel with AXI4-Lite registers, driven from standard input: "w ADDRESS WORD" and "r ADDRESS" are one AXI4-Lite access
// each, "c COUNT" lets cycles pass. Every line is answered by one: the word that was read, or 0; "x" if the kernel
// does not answer. Its stream `in` always offers 1, its stream `out` is always taken.
#include <cstdint>
#include <cstdio>

#include "Vkernel.h"
#include "verilated.h"

static Vkernel top;

static void edge() {
  top.ap_clk = 1, top.eval();
  top.ap_clk = 0, top.eval();
}

// Waits for `ready` and passes the clock edge on which the handshake happens.
static bool handshake(const CData& ready) {
  for (int cycle = 0; cycle < 100; ++cycle) {
    const bool done = ready;
    edge();
    if (done) return true;
  }
  return false;
}

static bool write(uint32_t address, uint32_t word) {
  top.s_axi_control_AWADDR = address, top.s_axi_control_AWVALID = 1, top.eval();
  if (!handshake(top.s_axi_control_AWREADY)) return false;
  top.s_axi_control_AWVALID = 0;
  top.s_axi_control_WDATA = word, top.s_axi_control_WSTRB = 15, top.s_axi_control_WVALID = 1, top.eval();
  if (!handshake(top.s_axi_control_WREADY)) return false;
  top.s_axi_control_WVALID = 0, top.s_axi_control_BREADY = 1, top.eval();
  const bool done = handshake(top.s_axi_control_BVALID);
  top.s_axi_control_BREADY = 0, top.eval();
  return done;
}

static bool read(uint32_t address, uint32_t& word) {
  top.s_axi_control_ARADDR = address, top.s_axi_control_ARVALID = 1, top.eval();
  if (!handshake(top.s_axi_control_ARREADY)) return false;
  top.s_axi_control_ARVALID = 0, top.eval();
  for (int cycle = 0; cycle < 100 && !top.s_axi_control_RVALID; ++cycle) edge();
  word = top.s_axi_control_RDATA;
  top.s_axi_control_RREADY = 1, top.eval();
  const bool done = handshake(top.s_axi_control_RVALID);
  top.s_axi_control_RREADY = 0, top.eval();
  return done;
}

int main() {
  top.in_TVALID = top.out_TREADY = 1, top.in_TDATA = 1;
  for (int cycle = 0; cycle < 8; ++cycle) edge();
  top.ap_rst_n = 1, top.eval();
  char what;
  unsigned first, second;
  while (std::scanf(" %c %u %u", &what, &first, &second) == 3) {
    uint32_t word = 0;
    bool answered = true;
    if (what == 'w') answered = write(first, second);
    if (what == 'r') answered = read(first, word);
    if (what == 'c')
      while (first--) edge();
    if (answered)
      std::printf("%u\n", word);
    else
      std::printf("x\n");
    std::fflush(stdout);
  }
}
