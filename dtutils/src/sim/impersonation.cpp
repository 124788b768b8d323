// SPDX-License-Identifier: MIT
// Loading the stack, the registers and the thread-local variables of another thread.
#include "sim/impersonation.hpp"

#include <signal.h>

#include <utility>

#ifdef CARIAMA_SIM_IMPERSONATES
#include <asm/prctl.h>
#include <sys/auxv.h>

extern "C" {
/// Saves what a call preserves (System V ABI, AMD64 supplement, 3.2.1) on the stack, and that in
/// `*save`; goes on where `load` was saved.
void cariama_sim_switch(void** save, void* load) noexcept;
/// Saves the same way. Then the stack is another one's: sets `*parked`, sleeps until `*home`, and
/// goes on at what is in `*save` then.
void cariama_sim_park(void** save, std::uint32_t* parked, std::uint32_t* home) noexcept;
}

// futex is call 202, FUTEX_WAKE_PRIVATE 129, FUTEX_WAIT_PRIVATE 128.
asm(R"(
  .text
  .macro CARIAMA_SIM_SAVE
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
  .endm
  .macro CARIAMA_SIM_LOAD
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
  .endm

  .hidden cariama_sim_switch
  .globl cariama_sim_switch
  .type cariama_sim_switch, @function
cariama_sim_switch:
  CARIAMA_SIM_SAVE
  movq %rsi, %rsp
  CARIAMA_SIM_LOAD
  .size cariama_sim_switch, . - cariama_sim_switch

  .hidden cariama_sim_park
  .globl cariama_sim_park
  .type cariama_sim_park, @function
cariama_sim_park:
  CARIAMA_SIM_SAVE
  movq %rdi, %r12
  movq %rsi, %r13
  movq %rdx, %r14
  movl $1, %eax
  xchgl %eax, (%r13)
  movl $202, %eax
  movq %r13, %rdi
  movl $129, %esi
  movl $1, %edx
  xorl %r10d, %r10d
  xorl %r8d, %r8d
  xorl %r9d, %r9d
  syscall
1:
  cmpl $0, (%r14)
  jne 2f
  movl $202, %eax
  movq %r14, %rdi
  movl $128, %esi
  xorl %edx, %edx
  xorl %r10d, %r10d
  xorl %r8d, %r8d
  xorl %r9d, %r9d
  syscall
  jmp 1b
2:
  movq (%r12), %rsp
  CARIAMA_SIM_LOAD
  .size cariama_sim_park, . - cariama_sim_park
  .purgem CARIAMA_SIM_SAVE
  .purgem CARIAMA_SIM_LOAD
)");

namespace dtutils::sim {
namespace {

/// In linux/auxvec.h of later kernels: programs may use wrfsbase.
constexpr unsigned long kMayWriteBase = 2;

/// The base of the thread-local variables, which begin with it.
std::uintptr_t locals() noexcept {
  std::uintptr_t base;
  asm("movq %%fs:0, %0" : "=r"(base));
  return base;
}

/// Until the stack is that of the same thread, nothing may use a thread-local variable.
inline void set_locals(std::uintptr_t base) noexcept {
  static const bool fast = (getauxval(AT_HWCAP2) & kMayWriteBase) != 0;
  if (fast) {
    asm volatile("wrfsbase %0" : : "r"(base) : "memory");
  } else {
    long answer = SYS_arch_prctl;
    asm volatile("syscall"
                 : "+a"(answer)
                 : "D"(long{ARCH_SET_FS}), "S"(base)
                 : "rcx", "r11", "memory");
  }
}

}  // namespace

void Impersonated::be_runner() noexcept {
  locals_ = locals();
  seen_ = true;
}

void Impersonated::park() noexcept {
  locals_ = locals();
  // A handler would run on the stack, which is another one's soon.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  cariama_sim_park(&stack_, parked_.word(), home_.word());
  arrive();
}

void Impersonated::leave_for(Impersonated& other) noexcept {
  go_to(other);
  arrive();
}

void Impersonated::leave_for_good(Impersonated& other) noexcept {
  other.left_ = this;
  go_to(other);
}

void Impersonated::go_to(Impersonated& other) noexcept {
  if (!other.seen_) {
    // It may not have come to park() yet.
    other.parked_.take();
    other.seen_ = true;
  }
  set_locals(other.locals_);
  cariama_sim_switch(&stack_, other.stack_);
}

void Impersonated::arrive() noexcept {
  if (left_ == nullptr) return;
  std::exchange(left_, nullptr)->home_.give();
}

}  // namespace dtutils::sim
#else

namespace dtutils::sim {

// Never called.
void Impersonated::be_runner() noexcept {}
void Impersonated::park() noexcept {}
void Impersonated::leave_for(Impersonated&) noexcept {}
void Impersonated::leave_for_good(Impersonated&) noexcept {}

}  // namespace dtutils::sim
#endif
