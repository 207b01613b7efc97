// Part of control_bench.cpp: return values, arguments that are read and written, wires, several AXI4-Lite ports.
#pragma once

using u128 = unsigned __int128;

static void write_words(Host& h, u32 address, u128 x, int words) {
  for (int i = 0; i < words; i++) write(h, address + 4 * i, u32(x >> 32 * i));
}
static u128 read_words(Host& h, u32 address, int words) {
  u128 x = 0;
  for (int i = 0; i < words; i++) x |= u128(read(h, address + 4 * i)) << 32 * i;
  return x;
}

// What the kernel leaves as it was it need not write; then ap_vld is not set
static void check_result(Host& h, u32 data, u32 valid, int words, u128 before, u128 want, const char* name) {
  bool written = read(h, valid) == 1;
  CHECK(read(h, valid) == 0, "reading does not clear %s_ap_vld", name);
  CHECK(written || want == before, "%s was not written", name);
  CHECK(!written || read_words(h, data, words) == want, "%s is wrong", name);
}

static void tally_scenario() {
  Host &h = tally_host, &state = tally_state_host;
  Kernel& k = tally_kernel;
  reset(k);
  write(h, 0x4, 1);
  write(h, 0x8, 3);
  for (int run = 0; run < 30; run++) {
    k.in.rate = k.out.rate = 20 + rng() % 81;
    k.out.got.clear();
    u32 n = rng() % 40;
    int16_t bias = int16_t(rng());
    const u128 mask = (u128(1) << 100) - 1;
    u128 before = (u128(rng()) << 96 | u128(rng()) << 64 | u128(rng()) << 32 | rng()) & mask, total = before;
    int32_t worst_before = int32_t(rng()), worst = worst_before;
    int64_t sum = 0;
    bool seen = false;
    std::vector<u32> want;
    for (u32 i = 0; i < n; i++) {
      u32 x = rng() % 8 ? rng() : 0;
      k.in.queue.push_back(x);
      total = (total + (u128(x) << 40) + u128(__int128(bias))) & mask;
      worst = std::max(worst, int32_t(x));
      seen |= x == 0;
      sum += (i == 2) - int64_t(int32_t(x));
      want.push_back(u32(total >> 40));
    }
    write(h, TALLY_N, n);
    write(h, TALLY_BIAS, u32(bias));
    write_words(state, TALLY_TOTAL_I, before, 4);
    write(state, TALLY_WORST_I, u32(worst_before));
    CHECK(read_words(state, TALLY_TOTAL_I, 4) == before, "total_i reads back wrong");
    u32 port = rng() % 2;  // the other port has no block control
    write(state, 0, 1);
    CHECK(read(state, 0) == 0 && read(state, 0xc) == 0, "the second port has block control");
    write(h, 0, 1);
    until([&] { top.eval(); return bool(top.tally_interrupt); }, "the interrupt");
    CHECK(read(h, 0xc) == 3, "not both causes are set");
    write(h, 0xc, port ? 3 : 1);
    write(h, 0xc, port ? 0 : 2);
    CHECK(!top.tally_interrupt, "the interrupt stays");
    expect(k.out.got, want);
    CHECK((read_words(h, TALLY_AP_RETURN, 2) & ((u128(1) << 40) - 1)) == (u64(sum) & ((1ull << 40) - 1)),
          "the return value is wrong");
    check_result(state, TALLY_TOTAL_O, TALLY_TOTAL_O_VLD, 4, before, total, "total_o");
    check_result(state, TALLY_WORST_O, TALLY_WORST_O_VLD, 1, u32(worst_before), u32(worst), "worst_o");
    CHECK(read(state, TALLY_SEEN_VLD) == seen && (!seen || read(state, TALLY_SEEN) == 1), "seen is wrong");
    CHECK(read(state, TALLY_LAST_VLD) == (n != 0) && (!n || read(state, TALLY_LAST) == n - 1), "last is wrong");
    CHECK(read(h, 0) & 4, "not idle");
  }
}

static void relay_scenario() {
  Host& h = relay_host;
  Kernel& k = relay_kernel;
  reset(k);
  for (int run = 0; run < 20; run++) {
    k.in.rate = k.out.rate = 20 + rng() % 81;
    k.out.got.clear();
    u32 n = rng() % 30;
    u64 before = (u64(rng()) << 32 | rng()) | 0xfffffff0;  // a carry into the upper word
    std::vector<u32> want;
    for (u32 i = 0; i < n; i++) {
      u32 x = rng();
      k.in.queue.push_back(x);
      want.push_back(x ^ u32(before + i));
    }
    write(h, RELAY_N, n);
    write64(h, RELAY_SEEN_I, before);
    write(h, 0, 1);
    u64 start = cycle;
    while (!(read(h, 0) & 2)) CHECK(cycle - start < PATIENCE, "ap_done never came");
    expect(k.out.got, want);
    check_result(h, RELAY_SEEN_O, RELAY_SEEN_O_VLD, 2, before, u128(before + n), "seen_o");
    CHECK(read64(h, RELAY_SEEN_I) == before, "the kernel changed what the host wrote");
    write(h, 0, 0x10);
  }
}

static void taps_scenario() {
  Kernel& k = taps_kernel;
  for (int round = 0; round < 3; round++) {
    u32 gain = rng() % 4096, best = 0, count = 0;
    int bias = int(rng() % 256) - 128;
    taps_wire["gain"].set(gain);  // the wires change in reset only
    taps_wire["bias"].set(bias & 255);
    reset(k);
    k.in.rate = k.out.rate = 30 + rng() % 71;
    std::vector<u32> want, peaks, got_peaks;
    k.watch = [&] {
      if (taps_wire["peak_ap_vld"].get()) got_peaks.push_back(u32(taps_wire["peak"].get()));
    };
    for (int i = 0; i < 60; i++) {
      u32 x = rng() >> (rng() % 32);
      k.in.queue.push_back(x);
      want.push_back(x * gain + u32(bias));
      if (x > best) peaks.push_back(best = x);
      count++;
    }
    until([&] { return k.out.got.size() == want.size(); }, "the words");
    for (int i = 0; i < 5; i++) tick();
    k.watch = [] {};
    expect(k.out.got, want);
    expect(got_peaks, peaks);
    CHECK(taps_wire["seen"].get() == count, "seen is %d", int(taps_wire["seen"].get()));
    CHECK(read(taps_host, TAPS_AP_RETURN) == count << 3, "the return value is wrong");
    CHECK(read(taps_host, 0) == 0, "there is block control");
  }
}

static void wires_hs_scenario() {
  Kernel& k = wires_hs_kernel;
  reset(k);
  for (int run = 0; run < 40; run++) {
    k.in.rate = k.out.rate = 30 + rng() % 71;
    k.out.got.clear();
    bool up = rng() & 1;
    u32 level = rng() & 0xffffff, x = rng() % 3 ? rng() : 0;
    k.in.queue.push_back(x);
    wires_hs_wire["level_i"].set(level);
    wires_hs_wire["up"].set(up);
    wires_hs_pins.start.set(1);
    until([&] { top.eval(); return wires_hs_pins.done.get(); }, "ap_done");
    u32 want = (level + 3 * up) & 0xffffff;
    if (up) CHECK(wires_hs_wire["level_o"].get() == want, "level_o is wrong at ap_done");
    u32 returned = x == 0 ? ~0u : want & 0x800000 ? want | 0xff000000 : want;
    CHECK(wires_hs_wire["ap_return"].get() == returned, "ap_return is wrong at ap_done");
    tick();
    wires_hs_pins.start.set(0);
    expect(k.out.got, {x});
  }
}
