// SPDX-License-Identifier: BSD-2-Clause
//
// Libraries opened with RTLD_DEEPBIND look for functions in their own libraries before the global ones, so
// their malloc is libc's and not the hook in front of it. When they are loaded, the addresses that the loader
// has put into their tables are exchanged: where one is that of the real function, it becomes the hook's.
// What their constructors do comes before that and stays unseen.
#ifndef SEEP_PRELOAD_DEEP_BIND_H
#define SEEP_PRELOAD_DEEP_BIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_deep_bind {
    size_t nr_modules;    // before
    uint64_t nr_unloaded; // ever, by then
};

// Before the library is opened. false: the real dlopen has to see the program's call itself (it searches from
// where its caller lies), or nothing could be exchanged.
bool seep_deep_bind_begin(const char *path, struct seep_deep_bind *ret_loaded);
// After it. Takes the lock of the loader, as dlopen just did. false: some of its calls will go past us.
bool seep_deep_bind_end(const struct seep_deep_bind *loaded);

#endif
