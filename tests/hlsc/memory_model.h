// Part of control_bench.cpp.
#pragma once

// A memory of 64-bit words at the end of an AXI4 master, with random stalls and a latency. It checks the bus rules.
struct Memory {
  std::map<std::string, Pin> pin;  // awvalid, ...
  std::map<u64, u64> word;         // byte address -> word
  std::map<u64, int> errors;       // byte address of a word -> its response: 2 SLVERR, 3 DECERR
  u32 longest = 16;                // beats
  u32 latency = 0;                 // cycles from an address to its data, from the last data to its response
  int rate = 100;
  u64 bursts = 0, most_reads = 0;
  u64 first_data = 0, last_data = 0;  // cycle of the first and the last W beat

  struct Burst {
    u64 address;
    u32 beats, done = 0;
    u64 ready = 0;
    int response = 0;
  };
  std::deque<Burst> reads, writes, answers;
  std::map<std::string, std::vector<u64>> held;  // channel -> payload that was not taken in the last cycle
  bool r_taken, b_taken;

  u64 get(const std::string& name) { return pin.at(name).get(); }
  void hold(const std::string& channel, std::vector<u64> payload) {
    bool valid = get(channel + "valid"), ready = get(channel + "ready");
    if (held.count(channel)) CHECK(valid && payload == held[channel], "%svalid or its payload changed", channel.c_str());
    held.erase(channel);
    if (valid && !ready) held[channel] = payload;
  }
  Burst burst(const std::string& c) {
    Burst b{get(c + "addr"), u32(get(c + "len")) + 1};
    CHECK(get(c + "size") == 3 && get(c + "burst") == 1, "not an INCR burst of whole words");
    CHECK(b.address % 8 == 0, "address %llx is not aligned", (unsigned long long)b.address);
    CHECK(b.address / 4096 == (b.address + 8 * b.beats - 1) / 4096, "a burst crosses 4 KB");
    CHECK(b.beats <= longest, "a burst of %u beats", b.beats);
    bursts++;
    b.ready = cycle + latency;
    return b;
  }
  int response(u64 at) { return errors.count(at) ? errors[at] : 0; }
  void sample() {
    if (pin.empty()) return;
    hold("ar", {get("araddr"), get("arlen")});
    hold("aw", {get("awaddr"), get("awlen")});
    hold("w", {get("wdata"), get("wstrb"), get("wlast")});
    r_taken = get("rvalid") && get("rready");
    b_taken = get("bvalid") && get("bready");
    if (get("arvalid") && get("arready")) reads.push_back(burst("ar"));
    most_reads = std::max<u64>(most_reads, reads.size());
    if (get("awvalid") && get("awready")) writes.push_back(burst("aw"));
    if (get("wvalid") && get("wready")) {
      CHECK(!writes.empty(), "data before its address was taken");  // WREADY waits for AW here
      Burst& b = writes.front();
      u64 at = b.address + 8 * b.done;
      u64 mask = 0;
      for (int i = 0; i < 8; i++) mask |= get("wstrb") >> i & 1 ? 0xffull << 8 * i : 0;
      b.response = std::max(b.response, response(at));
      if (!response(at)) word[at] = (word[at] & ~mask) | (get("wdata") & mask);
      b.done++;
      if (!first_data) first_data = cycle;
      last_data = cycle;
      CHECK(get("wlast") == (b.done == b.beats), "WLAST is wrong");
      b.ready = cycle + latency;
      if (b.done == b.beats) answers.push_back(b), writes.pop_front();
    }
  }
  void drive() {
    if (pin.empty()) return;
    if (r_taken && ++reads.front().done == reads.front().beats) reads.pop_front();
    if (b_taken) answers.pop_front();
    pin["arready"].set(chance(rate));
    pin["awready"].set(chance(rate) && writes.size() < 3);
    pin["wready"].set(chance(rate) && !writes.empty());
    if (r_taken || !get("rvalid")) {
      bool on = !reads.empty() && cycle >= reads.front().ready && chance(rate);
      pin["rvalid"].set(on);
      u64 at = on ? reads.front().address + 8 * reads.front().done : 0;
      pin["rdata"].set(on ? word[at] : 0);
      pin["rresp"].set(on ? response(at) : 0);
      pin["rlast"].set(on && reads.front().done + 1 == reads.front().beats);
    }
    if (b_taken || !get("bvalid")) {
      bool on = !answers.empty() && cycle >= answers.front().ready && chance(rate);
      pin["bvalid"].set(on);
      pin["bresp"].set(on ? answers.front().response : 0);
    }
  }
};
