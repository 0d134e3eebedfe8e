// SPDX-License-Identifier: BSD-2-Clause
//
// Objects of ARM code name the routine of libgcc that reads their unwind tables, so that it is linked. An
// unwinder takes its own by the number in the table, and never calls these: the names alone keep the library
// from needing libgcc. Source: Exception Handling ABI for the Arm Architecture (IHI 0038), 9.2.
#include "core/attr.h"

void __aeabi_unwind_cpp_pr0(void) __attribute__((visibility("hidden")));
void __aeabi_unwind_cpp_pr1(void) __attribute__((visibility("hidden")));
void __aeabi_unwind_cpp_pr2(void) __attribute__((visibility("hidden")));

void __aeabi_unwind_cpp_pr0(void) {
}
void __aeabi_unwind_cpp_pr1(void) {
}
void __aeabi_unwind_cpp_pr2(void) {
}
