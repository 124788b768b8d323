// SPDX-License-Identifier: MIT
// Exported: how a process becomes another program.
#include <alloca.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>

#include "connection.hpp"
#include "descriptors.hpp"
#include "process.hpp"
#include "real.hpp"

using namespace preload;

namespace {

/// A child of vfork(2) shares the memory of its parent, whose connections stay as they are.
void leave_to_program() noexcept {
  if (!is_this_process()) return;
  for_each_entry([](int fd, const Entry&) {
    if (const auto connection = table().lock<Connection>(fd)) connection->leave_to_program(fd);
  });
}

/// Calls `call(arguments, list)` with the arguments up to the null pointer as an array; `list` is
/// what stands behind it. On the stack: a child of vfork(2) may not allocate.
template <class Call>
int with_arguments(const char* first, va_list list, Call call) {
  va_list counted;
  va_copy(counted, list);
  std::size_t count = 1;
  for (const char* each = first; each != nullptr; ++count) each = va_arg(counted, const char*);
  va_end(counted);
  auto** const arguments = static_cast<char**>(alloca(count * sizeof(char*)));
  arguments[0] = const_cast<char*>(first);
  for (std::size_t i = 1; i < count; ++i) arguments[i] = va_arg(list, char*);
  return call(arguments, list);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  leave_to_program();
  return real().execve(path, arguments, environment);
}

int execv(const char* path, char* const* arguments) noexcept {
  return execve(path, arguments, environ);
}

int execvpe(const char* file, char* const* arguments, char* const* environment) noexcept {
  leave_to_program();
  return real().execvpe(file, arguments, environment);
}

int execvp(const char* file, char* const* arguments) noexcept {
  return execvpe(file, arguments, environ);
}

int fexecve(int fd, char* const* arguments, char* const* environment) noexcept {
  leave_to_program();
  return real().fexecve(fd, arguments, environment);
}

int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = with_arguments(
      first, list, [&](char** arguments, va_list) { return execve(path, arguments, environ); });
  va_end(list);
  return result;
}

int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = with_arguments(
      first, list, [&](char** arguments, va_list) { return execvpe(file, arguments, environ); });
  va_end(list);
  return result;
}

int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = with_arguments(first, list, [&](char** arguments, va_list behind) {
    return execve(path, arguments, va_arg(behind, char**));
  });
  va_end(list);
  return result;
}

}  // extern "C"
#pragma GCC visibility pop
