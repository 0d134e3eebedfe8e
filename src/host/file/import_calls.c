// SPDX-License-Identifier: BSD-2-Clause
// A line for each call, see import_format.h: of mprof, "malloc<TAB>SIZE<TAB>RESULT", all hexadecimal; and our
// own log, "malloc<TAB>100<TAB>0x55...".
#include <string.h>

#include "file/import_format.h"

static const struct {
    const char *name;
    uint32_t via;
    unsigned nr_sizes; // its size is the product of these
    bool takes_block;  // before them
    bool aligned;      // an alignment comes before the size
} calls[] = {
    {"malloc", SEEP_VIA_MALLOC, 1, false, false},
    {"calloc", SEEP_VIA_CALLOC, 2, false, false},
    {"realloc", SEEP_VIA_REALLOC, 1, true, false},
    {"reallocarray", SEEP_VIA_REALLOCARRAY, 2, true, false},
    {"posix_memalign", SEEP_VIA_POSIX_MEMALIGN, 1, false, true},
    {"aligned_alloc", SEEP_VIA_ALIGNED_ALLOC, 1, false, true},
    {"memalign", SEEP_VIA_MEMALIGN, 1, false, true},
    {"valloc", SEEP_VIA_VALLOC, 1, false, false},
    {"pvalloc", SEEP_VIA_PVALLOC, 1, false, false},
    {"operator new", SEEP_VIA_NEW, 1, false, false},
    {"operator new[]", SEEP_VIA_NEW_ARRAY, 1, false, false},
};

static bool take_size(char **at, bool is_hex, uint64_t *ret_size) {
    return is_hex ? seep_import_take_hex(at, ret_size) : seep_import_take_number(at, ret_size);
}

// A recording keeps neither alignments nor the size of a realloc that failed, so `seep export --events log`
// writes "?".
static bool take_unknown(char **at) {
    size_t blanks = strspn(*at, " \t");
    bool is_unknown = (*at)[blanks] == '?';
    *at += is_unknown ? blanks + 1 : 0;
    return is_unknown;
}

static bool take_no_result(char **at) {
    bool is_none = strncmp(*at, "\t-", 2) == 0;
    *at += is_none ? 2 : 0;
    return is_none;
}

// Our log has more columns behind the result where --log-columns asked for them.
static bool is_end_of_field(const char *at) {
    return !*at || *at == '\t';
}

static struct seep_error *call_line(struct seep_import_reading *reading, char *text, uint64_t line,
                                    bool is_hex) {
    struct seep_importing *importing = &reading->importing;
    char *at = strchr(text, '\t');
    seep_import_pass_time(reading, line);
    if (!at) { // what the program itself wrote there
        seep_import_foreign(importing);
        return NULL;
    }
    *at++ = 0;
    uint64_t block = 0, size = 1, factor, result = 0;
    if (strcmp(text, "free") == 0 || strncmp(text, "operator delete", 15) == 0) {
        if (!seep_import_take_hex(&at, &block) || (!is_hex && !take_no_result(&at)) || !is_end_of_field(at))
            return seep_import_damaged(reading, line);
        uint32_t release = strcmp(text, "free") == 0 ? SEEP_RELEASE_FREE
                           : strstr(text, "[]")      ? SEEP_RELEASE_DELETE_ARRAY
                                                     : SEEP_RELEASE_DELETE;
        return seep_import_free(importing, block, release);
    }
    size_t call = 0;
    while (call < SEEP_ARRAY_SIZE(calls) && strcmp(text, calls[call].name) != 0)
        call++;
    if (call == SEEP_ARRAY_SIZE(calls)) {
        seep_import_foreign(importing);
        return NULL;
    }
    bool good = !calls[call].takes_block || seep_import_take_hex(&at, &block);
    if (good && calls[call].aligned && !take_unknown(&at))
        good = take_size(&at, is_hex, &factor);
    bool is_unknown = good && calls[call].takes_block && take_unknown(&at);
    for (unsigned i = 0; good && !is_unknown && i < calls[call].nr_sizes; i++) {
        good = take_size(&at, is_hex, &factor);
        if (good && __builtin_mul_overflow(size, factor, &size))
            size = UINT64_MAX;
    }
    if (!good || *at != '\t' || !seep_import_take_hex(&at, &result) || !is_end_of_field(at) ||
        (is_unknown && result))
        return seep_import_damaged(reading, line);
    struct seep_error *error =
        block && (result || !size) ? seep_import_free(importing, block, SEEP_RELEASE_REALLOC) : NULL;
    return error ? error : seep_import_allocation(importing, result, size, 0, calls[call].via);
}

static struct seep_error *mprof_line(struct seep_import_reading *reading, char *at, uint64_t line) {
    return call_line(reading, at, line, true);
}

static struct seep_error *log_line(struct seep_import_reading *reading, char *at, uint64_t line) {
    return call_line(reading, at, line, false);
}

const struct seep_import_format seep_import_mprof = {.name = "mprof", .line = mprof_line};
const struct seep_import_format seep_import_log = {.name = "log", .line = log_line};
