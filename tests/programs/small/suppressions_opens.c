// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <dlfcn.h>
int main(void) { return !dlopen("libm.so.6", RTLD_NOW); }
