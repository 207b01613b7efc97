// Part of control_bench.cpp: kernels with AXI4 masters.
#pragma once

// Memory to memory: every word at its place when ap_done says so, also after errors and for empty bursts
static void memory_scenario() {
  Host& h = copy_words_host;
  Memory &from = copy_words_gmem0, &to = copy_words_gmem1;
  to.longest = 64;
  reset(copy_words_kernel);
  for (int run = 0; run < 40; run++) {
    from.rate = to.rate = run < 2 ? 100 : 20 + rng() % 81;
    from.word.clear(), to.word.clear();
    u32 each = run == 0 ? 256 : run == 3 ? 0 : rng() % 90, count = run == 0 ? 4 : 1 + rng() % 12;
    u64 source = (u64(rng() % 4) << 32) + 8 * (rng() % 4096), target = 0x7000000000ull + 8 * (rng() % 4096);
    u64 first = rng() % 2000, place = rng() % 2000;
    std::map<u64, u64> want;
    for (u64 i = 0; i < u64(each) * count; i++) {
      u64 x = u64(rng()) << 32 | rng();
      from.word[source + 8 * (first + i)] = x;
      want[target + 8 * (place + i)] = ~x;
    }
    bool broken = run % 8 == 7 && each;
    from.errors.clear();
    if (broken) from.errors[source + 8 * (first + u64(each) * count - 1)] = 2;  // the last word
    write64(h, COPY_WORDS_SOURCE, source);
    write64(h, COPY_WORDS_TARGET, target);
    write64(h, COPY_WORDS_FROM, first);
    write64(h, COPY_WORDS_TO, place);
    write(h, COPY_WORDS_WORDS_EACH, each);
    write(h, COPY_WORDS_COUNT, count);
    u64 start = cycle;
    from.bursts = to.bursts = 0;
    write(h, 0, 1);
    while (!(read(h, 0) & 2)) CHECK(cycle - start < PATIENCE, "ap_done never came");
    if (run == 0)
      printf("info memory: %u words in %d cycles, %d read bursts, %d write bursts\n", each * count,
             int(cycle - start), int(from.bursts), int(to.bursts));
    CHECK(to.word == want, "the memory is wrong after run %d: %zu words of %zu", run, to.word.size(), want.size());
    CHECK(read(h, COPY_WORDS_READ_ERRORS) == broken, "read errors are %u", read(h, COPY_WORDS_READ_ERRORS));
    CHECK(read(h, COPY_WORDS_WRITE_ERRORS) == 0, "write errors are %u", read(h, COPY_WORDS_WRITE_ERRORS));
    write(h, 0, 0x10);
  }
}

// Elements of four words through ports of one: what a burst leaves free in its last element is zeros when it is read, and
// dropped when it is written, and the next burst begins with the next element
static void narrow_run(u32 count, u32 read_each, u32 write_each, bool refused_read, bool refused_write, int rate) {
  Host& h = copy_narrow_host;
  Memory &from = copy_narrow_gmem0, &to = copy_narrow_gmem1;
  const u32 elements = (read_each + 31) / 32, step = 8 * ((std::max(read_each, write_each) + 7) / 8 + rng() % 3);
  for (Memory* m : {&from, &to}) {
    m->word.clear(), m->errors.clear();
    m->longest = 256, m->rate = rate;
    m->bursts = m->first_data = 0;
  }
  u64 source = (u64(rng() % 4) << 32) + 8 * (rng() % 4096), target = 0x7000000000ull + 8 * (rng() % 4096);
  u64 first = 8 * (rng() % 600) + (refused_read ? 1 + rng() % 7 : 0);
  u64 place = 8 * (rng() % 600) + (refused_write ? 1 + rng() % 7 : 0);
  const u32 read_words = (read_each + 7) / 8, write_words = (write_each + 7) / 8;
  std::map<u64, u64> want;
  u32 read_errors = refused_read && read_each ? count : 0, write_errors = refused_write && write_each ? count : 0;
  for (u32 k = 0; k < count; k++) {
    if (!refused_read && read_words && rng() % 5 == 0) {
      from.errors[source + first + u64(k) * step + 8 * (rng() % read_words)] = 2;
      read_errors++;
    }
    for (u32 i = 0; i < std::max(read_words, write_words); i++) {
      u64 x = 0, old = u64(rng()) << 32 | rng(), a = target + place + u64(k) * step + 8 * i;
      if (!refused_read) x = from.word[source + first + u64(k) * step + 8 * i] = u64(rng()) << 32 | rng();
      if (i >= read_words) x = 0;  // the memory has something there, which no burst asks for
      if (refused_write || i >= write_words) continue;
      u64 mask = i + 1 == write_words && write_each % 8 ? (1ull << 8 * (write_each % 8)) - 1 : ~0ull;
      to.word[a] = old;
      want[a] = (old & ~mask) | (~x & mask);
    }
  }
  write64(h, COPY_NARROW_SOURCE, source);
  write64(h, COPY_NARROW_TARGET, target);
  write64(h, COPY_NARROW_FROM, first);
  write64(h, COPY_NARROW_TO, place);
  write(h, COPY_NARROW_READ_EACH, read_each);
  write(h, COPY_NARROW_WRITE_EACH, write_each);
  write(h, COPY_NARROW_STEP, step);
  write(h, COPY_NARROW_ELEMENTS_EACH, elements);
  write(h, COPY_NARROW_COUNT, count);
  write(h, COPY_NARROW_COMES, !refused_read);
  u64 start = cycle;
  write(h, 0, 1);
  while (!(read(h, 0) & 2)) CHECK(cycle - start < PATIENCE, "ap_done never came");
  CHECK(to.word == want, "the memory is wrong: %u bursts of %u, %u bytes", count, read_each, write_each);
  CHECK(read(h, COPY_NARROW_READ_ERRORS) == read_errors, "read errors are %u", read(h, COPY_NARROW_READ_ERRORS));
  CHECK(read(h, COPY_NARROW_WRITE_ERRORS) == write_errors, "write errors are %u", read(h, COPY_NARROW_WRITE_ERRORS));
  write(h, 0, 0x10);
}

static void narrow_scenario() {
  reset(copy_narrow_kernel);
  Memory& to = copy_narrow_gmem1;
  const u32 words = 3 * 1024;
  narrow_run(3, 8 * 1024, 8 * 1024, false, false, 100);
  u64 cycles = to.last_data - to.first_data + 1;
  printf("info copy_narrow: %u words in %d cycles\n", words, int(cycles));
  CHECK(cycles <= words + 270, "%d cycles for %u words", int(cycles), words);  // the first whole burst is waited for
  for (int run = 0; run < 60; run++) {
    u32 read_each = rng() % 8 ? 1 + rng() % 200 : 0;
    u32 end = 32 * ((read_each + 31) / 32);  // of the elements; the write ends in the last one, too
    u32 write_each = read_each ? end - rng() % 32 : 0;
    narrow_run(1 + rng() % 20, read_each, write_each, rng() % 6 == 0, rng() % 6 == 0, 20 + rng() % 81);
  }
}

// A list of descriptors: byte by byte what was asked for, and a completion each, also for those that fail
static void move_run(u32 count, u32 longest_bytes, int rate, u32 latency, bool trouble) {
  Host& h = move_bytes_host;
  Memory &lists = move_bytes_gmem0, &from = move_bytes_gmem1, &to = move_bytes_gmem2;
  for (Memory* m : {&lists, &from, &to}) {
    m->word.clear(), m->errors.clear();
    m->rate = rate, m->latency = latency;
    m->bursts = m->most_reads = m->first_data = 0;
  }
  u64 list = 0x1000 + 8 * (rng() % 512), reports = 0x800000 + 8 * (rng() % 512);
  u64 source = 0x100000000ull + 8 * (rng() % 512), target = 0x7000000000ull + 8 * (rng() % 512);
  u32 errors = 0;
  u64 at = 0;  // both offsets of the next transfer; transfers keep a word's distance
  std::map<u64, u64> want, want_reports;
  for (u32 k = 0; k < count; k++) {
    u32 bytes = !trouble ? longest_bytes : rng() % 8 == 0 ? 0 : 1 + rng() % longest_bytes;
    u64 from_offset = at, to_offset = at + 8 * (rng() % 3), cookie = u64(rng()) << 32 | k;
    int kind = trouble ? rng() % 8 : 7, read_status = 0, write_status = 0;
    bool refused = kind == 0;
    if (refused) (rng() & 1 ? from_offset : to_offset) += 1 + rng() % 7;
    const u64 fields[] = {from_offset, to_offset, bytes, cookie};
    for (int i = 0; i < 4; i++) lists.word[list + 32 * k + 8 * i] = fields[i];
    u32 whole = (bytes + 7) / 8;
    if (!refused && bytes) {
      u64 bad = 8 * (rng() % whole);
      if (kind == 1) from.errors[source + from_offset + bad] = read_status = 2 + rng() % 2;
      if (kind == 2) to.errors[target + to_offset + bad] = write_status = 2 + rng() % 2;
    }
    for (u32 i = 0; !refused && i < whole; i++) {
      u64 x = u64(rng()) << 32 | rng(), old = u64(rng()) << 32 | rng(), a = target + to_offset + 8 * i;
      u64 mask = i + 1 == whole && bytes % 8 ? (1ull << 8 * (bytes % 8)) - 1 : ~0ull;
      from.word[source + from_offset + 8 * i] = x;
      to.word[a] = old;
      want[a] = to.response(a) ? old : (old & ~mask) | (x & mask);
    }
    want_reports[reports + 16 * k] = cookie;
    want_reports[reports + 16 * k + 8] = read_status | write_status << 2 | refused << 4;
    errors += refused || read_status || write_status;
    at += 8 * (whole + 4);
  }
  write64(h, MOVE_BYTES_DESCRIPTORS, list);
  write64(h, MOVE_BYTES_COMPLETIONS, reports);
  write64(h, MOVE_BYTES_SOURCE, source);
  write64(h, MOVE_BYTES_TARGET, target);
  write(h, MOVE_BYTES_COUNT, count);
  u64 start = cycle;
  write(h, 0, 1);
  while (!(read(h, 0) & 2)) CHECK(cycle - start < 2 * PATIENCE, "ap_done never came");
  CHECK(to.word == want, "the target is wrong");
  for (auto& [address, x] : want_reports)
    CHECK(lists.word[address] == x, "completion at %llx is %llx instead of %llx", (unsigned long long)address,
          (unsigned long long)lists.word[address], (unsigned long long)x);
  CHECK(read(h, MOVE_BYTES_ERRORS) == errors, "%u errors instead of %u", read(h, MOVE_BYTES_ERRORS), errors);
  CHECK(read(h, MOVE_BYTES_FETCH_STATUS) == 0 && read(h, MOVE_BYTES_LOST) == 0, "a list has errors");
  write(h, 0, 0x10);
}

static void move_scenario() {
  Memory &from = move_bytes_gmem1, &to = move_bytes_gmem2;
  reset(move_bytes_kernel);
  const u32 count = 8, bytes = 8 * 1000 + 3, beats = count * 1001;
  move_run(count, bytes, 100, 200, false);
  u64 cycles = to.last_data - to.first_data + 1;
  printf("info move_bytes: %u beats in %d cycles, %.3f beats a cycle, %d bursts under way\n", beats, int(cycles),
         double(beats) / cycles, int(from.most_reads));
  CHECK(cycles <= beats * 102 / 100, "%d cycles for %u beats", int(cycles), beats);
  CHECK(from.most_reads >= 16, "only %d bursts were under way", int(from.most_reads));
  for (int run = 0; run < 40; run++) move_run(1 + rng() % 30, 1 + rng() % 400, 20 + rng() % 81, rng() % 30, true);
}
