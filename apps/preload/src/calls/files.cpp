// SPDX-License-Identifier: MIT
// Exported: files of the C library (FILE) over connections, and formatted writes to descriptors.
// The C library moves their bytes without the functions of this library.
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "connection.hpp"
#include "descriptor_table.hpp"
#include "descriptors.hpp"
#include "real.hpp"
#include "transfer.hpp"

using namespace preload;

namespace {

/// What a file over a stream hands to the C library: its descriptor.
void* cookie_of(int fd) noexcept { return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)); }
int fd_of(void* cookie) noexcept {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(cookie));
}

ssize_t read_file(void* cookie, char* into, std::size_t length) {
  return read(fd_of(cookie), into, length);
}

/// 0 is how such a function says that it failed.
ssize_t write_file(void* cookie, const char* from, std::size_t length) {
  std::size_t done = 0;
  while (done < length) {
    const ssize_t bytes = write(fd_of(cookie), from + done, length - done);
    if (bytes <= 0) break;
    done += static_cast<std::size_t>(bytes);
  }
  return static_cast<ssize_t>(done);
}

int close_file(void* cookie) { return close(fd_of(cookie)); }

FILE* open_over_stream(int fd, const char* mode) noexcept {
  FILE* const file = fopencookie(cookie_of(fd), mode, {read_file, write_file, nullptr, close_file});
  // So that fileno(3) answers it.
  if (file != nullptr) file->_fileno = fd;
  return file;
}

/// As dprintf(3), to a connection.
int print(int fd, const char* format, va_list list) {
  char* text = nullptr;
  const int length = vasprintf(&text, format, list);
  if (length < 0) return length;
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  const auto bytes = static_cast<std::size_t>(length);
  return write_file(cookie_of(fd), text, bytes) == length ? length : -1;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

FILE* fdopen(int fd, const char* mode) noexcept {
  if (const auto connection = table().lock<Connection>(fd)) {
    if (connection->stream() == nullptr) {
      connection->pin();
      return real().fdopen(fd, mode);
    }
  } else {
    return real().fdopen(fd, mode);
  }
  return open_over_stream(fd, mode);
}

int fclose(FILE* file) {
  const int fd = fileno(file);
  // What it holds back goes before the end of the connection.
  if (fd >= 0 && is_connection(fd)) std::fflush(file);
  leave(fd);
  return real().fclose(file);
}

int vdprintf(int fd, const char* format, va_list list) {
  return is_connection(fd) ? print(fd, format, list) : real().vdprintf(fd, format, list);
}
int __vdprintf_chk(int fd, int, const char* format, va_list list) {
  return vdprintf(fd, format, list);
}

int dprintf(int fd, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = vdprintf(fd, format, list);
  va_end(list);
  return result;
}
int __dprintf_chk(int fd, int, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = vdprintf(fd, format, list);
  va_end(list);
  return result;
}

}  // extern "C"
#pragma GCC visibility pop
