// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
void *k[12];
__attribute__((noinline)) void f(int j){
#pragma GCC unroll 4
 for(int i=0;i<4;i++) k[4 * j + i]=malloc(64);
}
int main(){ for(int j=0;j<3;j++) f(j); return 0;}
