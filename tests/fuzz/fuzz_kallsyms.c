// SPDX-License-Identifier: BSD-2-Clause
//
// A kernel's list of symbols from any bytes. Besides not crashing: what is found at an address begins at or
// below it, its names are not empty and have no line's end in them, and the same bytes are found at a
// function's own start.
#include <stdlib.h>
#include <string.h>

#include "names/kallsyms.h"
#include "fuzz.h"

static void look_up(const struct seep_kallsyms *symbols, uint64_t address) {
    struct seep_kernel_function function, again;
    if (!seep_kallsyms_find(symbols, address, &function))
        return;
    MUST(function.offset <= address);
    MUST(function.name[0] && !strpbrk(function.name, "\n\t"));
    MUST(function.module[0] && !strchr(function.module, '\n'));
    MUST(seep_kallsyms_find(symbols, address - function.offset, &again));
    MUST(again.offset == 0 && again.name == function.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_kallsyms *symbols;
    struct seep_error *error = seep_kallsyms_parse((const char *)data, size, &symbols);
    MUST(!error);
    look_up(symbols, 0);
    look_up(symbols, UINT64_MAX);
    // Any eight bytes of it are an address as well, and so is any number that is written there.
    for (size_t i = 0; i + sizeof(uint64_t) <= size && i < 256; i++) {
        uint64_t address;
        memcpy(&address, data + i, sizeof(address));
        look_up(symbols, address);
        char digits[17] = "";
        memcpy(digits, data + i, SEEP_MIN(size - i, sizeof(digits) - 1));
        look_up(symbols, strtoull(digits, NULL, 16));
    }
    seep_kallsyms_destroy(symbols);
    return 0;
}
