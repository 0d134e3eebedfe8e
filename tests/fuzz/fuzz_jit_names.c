// SPDX-License-Identifier: BSD-2-Clause
//
// A file of names of code that was made at run time, from any bytes. Whatever address is asked for, the name
// that comes out is one of the text, and its function covers the address.
#include <string.h>

#include "names/jit_names.h"
#include "fuzz.h"

static void check(struct seep_jit_names *names, const uint8_t *data, size_t size, uint64_t address) {
    const struct seep_symbol *symbol;
    MUST(!seep_jit_names_resolve(names, address, true, &symbol));
    if (!symbol)
        return;
    const char *name = symbol->frames[0].function;
    MUST(symbol->nr_frames == 1 && name && symbol->frames[0].function_offset <= address);
    MUST(memmem(data, size, name, strlen(name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_jit_names *names;
    struct seep_error *err = seep_jit_names_create((const char *)data, size, &names);
    MUST(!err);
    uint64_t address = 0;
    for (size_t i = 0; i < size && i < 4096; i++) {
        address = address << 4 | (data[i] & 15);
        check(names, data, size, address);
        check(names, data, size, address & 0xffff);
    }
    seep_jit_names_destroy(names);
    return 0;
}
