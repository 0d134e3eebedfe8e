// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
int main(int argc, char **argv) { return argc > 1 ? 7 : 0; }
