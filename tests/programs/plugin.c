// SPDX-License-Identifier: BSD-2-Clause
//
// A plugin that leaks is loaded and unloaded three times (and once more under another name, so that
// its place is taken by other code): its frames keep their names after dlclose.
// EXPECT:
// {
//   "needs": ["plugin_a", "plugin_b"],
//   "sites": [
//     {"in": "plugin_a_work", "via": "malloc", "allocations": 15, "frees": 0, "live_blocks": 15,
//      "live_bytes": 1050},
//     {"in": "plugin_b_work", "via": "malloc", "allocations": 15, "frees": 0, "live_blocks": 15,
//      "live_bytes": 1200}
//   ]
// }
#include "program.h"
#include <dlfcn.h>

APART static void load_and_work(const char *directory, const char *name) {
    char path[4096], symbol[64];
    snprintf(path, sizeof(path), "%s/lib%s.so", directory, name);
    snprintf(symbol, sizeof(symbol), "%s_work", name);
    void *library = dlopen(path, RTLD_NOW);
    CHECK(library != NULL);
    void (*work)(int) = (void (*)(int))(uintptr_t)dlsym(library, symbol);
    CHECK(work != NULL);
    work(5);
    CHECK(dlclose(library) == 0);
    CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
}

int main(int argc, char **argv) {
    static char directory[4096];
    snprintf(directory, sizeof(directory), "%s", argv[0]);
    char *slash = strrchr(directory, '/');
    CHECK(slash != NULL);
    *slash = '\0';
    for (int i = 0; i < 3; i++) {
        load_and_work(directory, "plugin_a");
        load_and_work(directory, "plugin_b");
    }
    return 0;
}
