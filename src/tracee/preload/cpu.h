// SPDX-License-Identifier: BSD-2-Clause
//
// Selects the header of the CPU. All of it may be called in a signal handler. Each header has
//   sys6_real            a system call; the kernel's result, -errno of one that failed. errno is not touched
//   sys_thread_pointer   of the calling thread, in any state of libc; where its TLS begins or ends
//   cpu_pause            between two looks at memory that another thread will change
//   CPU_ADDRESS_BITS     of a user address that the heap map covers
//   CPU_PAGE_BYTES       where all kernels have the same
//   CPU_OWN_REGISTERS, cpu_own_registers
//                        the registers that a function preserves: their DWARF numbers as bits, and a
//                        function that writes them into an array by these numbers and returns a pc
//   CPU_HOOK_BP          in a hook, the caller's frame pointer, where no frame record has it
//   CPU_FRAME            an address in the frame of the function at hand, where asking the compiler for its
//   frame
//                        pointer would make it take a register that must stay the caller's
//   CPU_VDSO_CLOCK       the name of clock_gettime in the vdso
//   CPU_GLIBC_OLDEST     the version of dlsym that every glibc has
//   CPU_R_SLOT, CPU_R_GLOBAL, CPU_R_WORD
//                        relocations that bind a function's address
//   CPU_SLOT_WORDS       how many words a CPU_R_SLOT has if it is a copy of the function's descriptor; the
//                        address of the code is the first word
//   CPU_R_IS_REL, CPU_R_TYPE, CPU_R_SYMBOL
//                        where relocations are of another form than those of CPUs of the same word
//   CPU_GOT, CPU_GOT_LOCALS, CPU_GOT_SYMBOL, CPU_GOT_NR_SYMBOL
//                        where words of the global offset table are bound without relocations: what the
//                        dynamic section calls the table, how many words in front have no symbol, the first
//                        symbol with a word, and how many symbols there are
//   CPU_NO_ADDRESS       whether an undefined symbol has an address that is not the function's, where
//                        undefined symbols can have addresses
//   CPU_STAT, cpu_stat_convert
//                        what the kernel writes for newfstatat, where that is not libc's struct stat64
//   CPU_HANDLER_WORD     the word of the kernel's struct sigaction that has the handler, where that is not
//                        the first
//   CPU_DESCRIPTOR_FROM, CPU_DESCRIPTOR_TO, CPU_GLIBC_TID
//                        where a thread's descriptor lies, from its thread pointer; where glibc keeps the id
//                        in it, 0: to be found
#ifndef SEEP_PRELOAD_CPU_H
#define SEEP_PRELOAD_CPU_H

#if defined(__x86_64__)
#include "preload/cpu_x86_64.h"
#elif defined(__aarch64__)
#include "preload/cpu_aarch64.h"
#elif defined(__arm__)
#include "preload/cpu_arm.h"
#elif defined(__i386__)
#include "preload/cpu_i386.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "preload/cpu_riscv64.h"
#elif defined(__powerpc64__)
#include "preload/cpu_ppc64.h"
#elif defined(__mips64) && _MIPS_SIM == _ABI64
#include "preload/cpu_mips64.h"
#elif defined(__s390x__)
#include "preload/cpu_s390x.h"
#else
#error "this CPU has no header yet: see docs/cpus.md"
#endif

#ifndef CPU_HANDLER_WORD
#define CPU_HANDLER_WORD 0
#endif

#ifndef CPU_NO_ADDRESS
#define CPU_NO_ADDRESS(symbol) false
#endif

#ifndef CPU_FRAME
#define CPU_FRAME() ((uintptr_t)__builtin_frame_address(0))
#endif

#endif
