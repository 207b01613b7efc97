// The functions of XRT's libxrt_core that PYNQ 3.0.1 calls, handed on to whoever attached a simulated card.
//
// Buffers have host memory here, mapped as XRT's are; the device's is the simulation's.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Functions of the simulation. Addresses of buffers are the device's; 0 is none.
struct Card {
  std::uint64_t (*allocate)(std::uint64_t bytes, std::uint32_t bank);
  void (*release)(std::uint64_t address);
  void (*copy)(std::uint64_t address, void* host, std::uint64_t bytes, int from_device);
  std::uint32_t (*read)(std::uint64_t address);
  void (*write)(std::uint64_t address, std::uint32_t word);
};

struct Buffer {
  std::uint64_t address, bytes;
  char* host;
};

// As in XRT's headers: only what PYNQ reads.
struct Properties {
  std::uint32_t handle, flags;
  std::uint64_t size, paddr;
};

constexpr std::uint32_t kFailed = 0xFFFFFFFF;
constexpr std::size_t kNameAt = 4;  // of xclDeviceInfo2, behind its magic number
constexpr char kName[] = "PYNQ API over a simulated device";

Card card;
std::map<std::uint32_t, Buffer> buffers;
std::uint32_t next_buffer = 1;

}  // namespace

EXPORT void simulated_card_attach(const Card* one) { card = *one; }

EXPORT unsigned xclProbe() { return 1; }
EXPORT void* xclOpen(unsigned, const char*, int) { return &card; }
EXPORT void xclClose(void*) {}
EXPORT int xclLockDevice(void*) { return 0; }
EXPORT int xclUnlockDevice(void*) { return 0; }
EXPORT int xclGetDeviceInfo2(void*, void* info) {
  std::memcpy(static_cast<char*>(info) + kNameAt, kName, sizeof kName);
  return 0;
}
EXPORT int xclLoadXclBin(void*, const void* image) { return std::memcmp(image, "xclbin2", 8) == 0 ? 0 : -22; }
EXPORT int xclOpenContext(void*, const void*, unsigned, bool) { return 0; }
EXPORT int xclCloseContext(void*, const void*, unsigned) { return 0; }
EXPORT int xclIPName2Index(void*, const char*) { return 0; }

EXPORT unsigned xclAllocBO(void*, std::size_t bytes, int, unsigned bank) {
  const std::uint64_t address = card.allocate(bytes, bank);
  if (address == 0) return kFailed;
  void* host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  buffers[next_buffer] = {address, bytes, static_cast<char*>(host)};
  return next_buffer++;
}
EXPORT void xclFreeBO(void*, unsigned buffer) {
  card.release(buffers.at(buffer).address);
  buffers.erase(buffer);
}
EXPORT void* xclMapBO(void*, unsigned buffer, bool) { return buffers.at(buffer).host; }
EXPORT int xclGetBOProperties(void*, unsigned buffer, Properties* found) {
  const Buffer& one = buffers.at(buffer);
  *found = {buffer, 0, one.bytes, one.address};
  return 0;
}
EXPORT unsigned xclSyncBO(void*, unsigned buffer, int from_device, std::size_t bytes, std::size_t offset) {
  const Buffer& one = buffers.at(buffer);
  if (offset + bytes > one.bytes) return kFailed;
  card.copy(one.address + offset, one.host + offset, bytes, from_device);
  return 0;
}
EXPORT std::size_t xclRead(void*, int, std::uint64_t address, void* into, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 4) {
    const std::uint32_t word = card.read(address + at);
    std::memcpy(static_cast<char*>(into) + at, &word, 4);
  }
  return bytes;
}
EXPORT std::size_t xclWrite(void*, int, std::uint64_t address, const void* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, static_cast<const char*>(from) + at, 4);
    card.write(address + at, word);
  }
  return bytes;
}
