// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
const char *words = "mimalloc: warning";
__attribute__((used)) void *PyObject_Malloc(size_t n) { return 0; }
#ifdef FREE_THREADED
__attribute__((used)) void _Py_MergeZeroLocalRefcount(void *object) {}
#endif
int main(void) { return work(); }
