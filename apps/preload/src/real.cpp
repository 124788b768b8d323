// SPDX-License-Identifier: MIT
// Looks the functions up in the libraries behind this one.
#include "real.hpp"

#include <dlfcn.h>

namespace preload {
namespace {

template <class Function>
void find(Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

Real find_all() noexcept {
  Real all{};
  find(all.listen, "listen");
  find(all.accept4, "accept4");
  find(all.connect, "connect");
  find(all.read, "read");
  find(all.write, "write");
  find(all.readv, "readv");
  find(all.writev, "writev");
  find(all.recv, "recv");
  find(all.send, "send");
  find(all.recvfrom, "recvfrom");
  find(all.sendto, "sendto");
  find(all.recvmsg, "recvmsg");
  find(all.sendmsg, "sendmsg");
  find(all.recvmmsg, "recvmmsg");
  find(all.sendmmsg, "sendmmsg");
  find(all.sendfile, "sendfile64");
  find(all.splice, "splice");
  find(all.shutdown, "shutdown");
  find(all.setsockopt, "setsockopt");
  find(all.close, "close");
  find(all.close_range, "close_range");
  find(all.dup, "dup");
  find(all.dup2, "dup2");
  find(all.dup3, "dup3");
  find(all.fcntl, "fcntl");
  find(all.ioctl, "ioctl");
  find(all.ppoll, "ppoll");
  find(all.pselect, "pselect");
  find(all.epoll_create1, "epoll_create1");
  find(all.epoll_ctl, "epoll_ctl");
  find(all.epoll_pwait, "epoll_pwait");
  find(all.epoll_pwait2, "epoll_pwait2");
  find(all.select, "select");
  find(all.fdopen, "fdopen");
  find(all.fclose, "fclose");
  find(all.vdprintf, "vdprintf");
  find(all.exit_now, "_exit");
  find(all.execve, "execve");
  find(all.execvpe, "execvpe");
  find(all.fexecve, "fexecve");
  find(all.sigaction, "sigaction");
  find(all.signal, "signal");
  find(all.sysv_signal, "sysv_signal");
  find(all.uring_setup, "io_uring_setup");
  find(all.uring_init, "io_uring_queue_init");
  find(all.uring_init_with, "io_uring_queue_init_params");
  find(all.uring_init_in, "io_uring_queue_init_mem");
  find(all.preadv2, "preadv64v2");
  find(all.pwritev2, "pwritev64v2");
  return all;
}

}  // namespace

const Real& real() noexcept {
  static const Real all = find_all();
  return all;
}

}  // namespace preload
