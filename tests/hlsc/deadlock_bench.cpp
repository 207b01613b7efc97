// Feeds `argv[1]` words to the kernel `total_first`, takes what comes unless `argv[2]` is 0, and prints the words that
// came out and, once nothing has moved for a while, "name count" for each FIFO that holds something and "name 1" for
// each end of a FIFO whose process waits there.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "Vkernel.h"
#include "verilated.h"
#include "verilated_sym_props.h"
#include "verilated_syms.h"

static unsigned count_of(const VerilatedVar* v) {
  switch (v->vltype()) {
    case VLVT_UINT8: return *static_cast<const CData*>(v->datap());
    case VLVT_UINT16: return *static_cast<const SData*>(v->datap());
    default: return *static_cast<const IData*>(v->datap());
  }
}

int main(int, char** argv) {
  const int words = std::atoi(argv[1]);
  Vkernel top;
  top.out_r_TREADY = std::atoi(argv[2]);
  int sent = 0, received = 0;
  for (int cycle = 0, quiet = 0; quiet < 200; ++cycle) {
    top.ap_rst_n = cycle >= 4;
    top.in_r_TVALID = top.ap_rst_n && sent < words;
    top.in_r_TDATA = sent;
    top.ap_clk = 0, top.eval();
    const bool in = top.in_r_TVALID && top.in_r_TREADY, out = top.out_r_TVALID && top.out_r_TREADY;
    top.ap_clk = 1, top.eval();
    sent += in, received += out;
    quiet = in || out ? 0 : quiet + 1;
  }
  std::printf("received %d\n", received);
  for (const auto& entry : *Verilated::threadContextp()->scopeNameMap())
    if (const VerilatedVar* v = entry.second->varFind("count"))
      if (count_of(v)) std::printf("%s %u\n", entry.second->identifier(), count_of(v));
  for (const auto& entry : *Verilated::threadContextp()->scopeNameMap())
    for (const auto& variable : *entry.second->varsp())
      if (std::strstr(variable.first, "_waits") && count_of(&variable.second)) std::printf("%s 1\n", variable.first);
}
