// SPDX-License-Identifier: BSD-2-Clause
//
// The code of both plugins of plugin.c, which differ in names and in the size of their blocks.
#include "program.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

void JOIN(PLUGIN, _work)(int nr);

APART void JOIN(PLUGIN, _work)(int nr) {
    char space[PLUGIN_SIZE];
    keep(space);
    for (int i = 0; i < nr; i++)
        keep(malloc(PLUGIN_SIZE));
}
