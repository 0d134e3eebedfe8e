// SPDX-License-Identifier: BSD-2-Clause
//
// Demangling of names from hostile files. A mangled name may say "the same again" of any earlier
// part, so a hundred bytes can stand for more text than there is memory. Three limits hold it:
//  - input: longer names stay mangled, which bounds how deep libiberty recurses (it needs about
//    1 KiB of stack per nesting level; its own limit of 1,024 bytes refuses real C++ names);
//  - output: libiberty hands the text over piece by piece and cannot be told to stop, so the
//    callback leaves through longjmp. Its callback forms keep everything on the stack: nothing leaks;
//  - D, which has no callback form, may use only a few back references.
// Proof: tests/unit/test_demangle.c.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "names/demangle.h"

#define CXX_NAME_BYTES    4096u
#define RUST_NAME_BYTES   16384u
#define D_NAME_BYTES      1024u
#define D_BACK_REFERENCES 12u

struct sink {
    char *text;
    size_t used;
    jmp_buf overflow;
};

static void take(const char *piece, size_t length, void *sink_any) {
    struct sink *sink = sink_any;
    if (length >= SEEP_DEMANGLED_BYTES - sink->used)
        longjmp(sink->overflow, 1);
    memcpy(sink->text + sink->used, piece, length);
    sink->used += length;
}

typedef int demangler(const char *mangled, int options, demangle_callbackref callback, void *opaque);

static bool through_callback(demangler *demangle, const char *name, char *ret_text) {
    struct sink sink = {.text = ret_text};
    if (setjmp(sink.overflow))
        return false;
    if (!demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, take, &sink) || !sink.used)
        return false;
    ret_text[sink.used] = '\0';
    return true;
}

static bool demangle_d(const char *name, char *ret_text) {
    size_t nr_references = 0;
    for (const char *at = name; *at; at++)
        nr_references += *at == 'Q';
    if (nr_references > D_BACK_REFERENCES)
        return false;
    char *text = dlang_demangle(name, 0);
    size_t length = text ? strlen(text) : 0;
    bool fits = length && length < SEEP_DEMANGLED_BYTES;
    if (fits)
        memcpy(ret_text, text, length + 1);
    free(text);
    return fits;
}

bool seep_is_mangled(const char *name) {
    return name[0] == '_' &&
           (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D' || !strncmp(name, "_GLOBAL_", 8));
}

bool seep_demangle(const char *name, char ret_text[SEEP_DEMANGLED_BYTES]) {
    if (!seep_is_mangled(name))
        return false;
    size_t length = strnlen(name, RUST_NAME_BYTES + 1);
    if (name[1] == 'D')
        return length <= D_NAME_BYTES && demangle_d(name, ret_text);
    // Legacy Rust names are valid C++ names with a hash at the end: Rust must be asked first.
    if (length <= RUST_NAME_BYTES && through_callback(rust_demangle_callback, name, ret_text))
        return true;
    return length <= CXX_NAME_BYTES && through_callback(cplus_demangle_v3_callback, name, ret_text);
}
