// SPDX-License-Identifier: BSD-2-Clause
//
// A preload library without anything in it: what the dynamic loader's work for any library costs.
extern const int bench_empty;
const int bench_empty = 1;
