// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of a view as suppressions, ready for a file: in Valgrind's words or in LeakSanitizer's, for
// those tools and for seep. What lies inside of the C and C++ runtime is left open (`...`): its names
// depend on the version, and on whether its debug information is there. Rows that come to the same entry are
// one, with the sum of their figures.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "base/numbers.h"
#include "base/sum.h"
#include "base/words.h"
#include "base/map.h"
#include "output/format.h"
#include "output/output.h"
#include "output/report_lsan.h"

#define LINES_MAX 20u // of a stack: Valgrind takes 24

// Writes the next character of a name, and returns where the one behind it begins. A byte that would break
// the line or is not printable becomes `?`, which matches any byte.
static const char *put_next(FILE *out, const char *name) {
    unsigned shown = seep_shown_next(name);
    fwrite(shown ? name : "?", 1, shown ? shown : 1, out);
    return name + (shown ? shown : 1);
}

static void put_name(FILE *out, const char *name) {
    while (*name)
        name = put_next(out, name);
}

struct entry {
    char *text; // NULL: there is no word for it
    int64_t blocks;
    int64_t bytes;
    uint8_t kind; // the worst of its rows
    struct seep_lsan_taken taken;
};

struct entries {
    struct seep_map ids; // hash of the text -> index in items
    struct entry *items;
    size_t nr_items;
    size_t capacity;
};

// ---- Valgrind ----

static bool is_main(const struct seep_view_frame *frame) {
    return frame->function && strcmp(frame->function, "main") == 0 && !frame->inlined;
}

// C++ functions have mangled names there, except where they were inlined.
static bool is_open(const struct seep_view_frame *frame) {
    return frame->runtime || frame->folded || strcmp(frame->module, "[jit]") == 0 ||
           (frame->inlined && frame->linkage);
}

static void put_via(FILE *out, uint32_t via) {
    if (via == SEEP_VIA_NEW)
        fputs("   fun:_Znw*\n", out);
    else if (via == SEEP_VIA_NEW_ARRAY)
        fputs("   fun:_Zna*\n", out);
    else
        fprintf(out, "   fun:%s\n", via == SEEP_VIA_REALLOCARRAY ? "realloc*" : seep_via_name(via));
}

// Debug information has one name for all of a class's constructors (C4) or destructors (D4), and the symbols
// that Valgrind knows are C1, C2, D0, D1, D2. Source: Itanium C++ ABI, 5.1.4.3.
static void put_linkage(FILE *out, const char *linkage) {
    for (const char *at = linkage; *at;) {
        bool structor = *at == '4' && at - linkage > 3 && (at[-1] == 'C' || at[-1] == 'D') && at[1] == 'E';
        at = structor ? put_next(out, "?"), at + 1 : put_next(out, at);
    }
}

// The function of a library that the program called, right before the program's own frame. Without it `...`
// would take what that frame allocates by itself, and all that it calls.
static bool ends_library(const struct seep_view_frame *frames, size_t nr, size_t at) {
    return frames[at].runtime && !frames[at].inlined && !frames[at].folded && frames[at].module[0] != '[' &&
           at + 1 < nr && !is_open(&frames[at + 1]);
}

// Of "/usr/lib/x86_64-linux-gnu/libc.so.6" "obj:*/libc.so*": the folder and the version differ.
static void put_library(FILE *out, const char *path) {
    const char *name = seep_file_name(path);
    const char *version = strstr(name, ".so");
    char bare[128];
    snprintf(bare, sizeof(bare), "%.*s", version ? (int)(version - name + 3) : (int)strlen(name), name);
    fputs("   obj:*", out);
    put_name(out, bare);
    fputs("*\n", out);
}

static struct seep_error *put_stack(FILE *out, struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error = seep_view_frames(view, row, &frames, &nr, &more);
    if (error)
        return error;
    const char *name = NULL;
    for (size_t i = 0; i < nr && !name; i++)
        name = is_open(&frames[i]) ? NULL : frames[i].function;
    fputs("{\n   ", out);
    put_name(out, name ? name : nr ? frames[0].module : "stack not recorded");
    fputs("\n   Memcheck:Leak\n", out);
    if (row->kind)
        fprintf(out, "   match-leak-kinds: %s\n",
                row->kind == SEEP_KIND_REACHABLE ? "reachable" : "definite,indirect,possible");
    put_via(out, row->via);
    bool dots = false;
    for (size_t i = 0, lines = 0; i < nr && lines < LINES_MAX; i++) {
        const struct seep_view_frame *frame = &frames[i];
        if (is_open(frame)) {
            lines += !dots;
            fputs(dots ? "" : "   ...\n", out);
            dots = true;
            if (ends_library(frames, nr, i)) {
                put_library(out, frame->module);
                lines++;
                dots = false;
            }
            continue;
        }
        dots = false;
        lines++;
        fputs(frame->function ? "   fun:" : "   obj:", out);
        if (frame->function && frame->linkage)
            put_linkage(out, frame->linkage);
        else
            put_name(out, frame->function ? frame->function : frame->module);
        fputc('\n', out);
        if (is_main(frame))
            break;
    }
    fputs("}\n", out);
    return NULL;
}

static struct seep_error *make_entry(struct seep_view *view, const struct seep_view_row *row,
                                     char **ret_text) {
    size_t size;
    FILE *out = open_memstream(ret_text, &size);
    if (!out)
        return seep_error_no_memory();
    struct seep_error *error = put_stack(out, view, row);
    if (fclose(out) != 0 && !error)
        error = seep_error_no_memory();
    return error;
}

// ---- entries ----

static void entries_deinit(struct entries *entries) {
    for (size_t i = 0; i < entries->nr_items; i++)
        free(entries->items[i].text);
    free(entries->items);
    seep_map_deinit(&entries->ids);
}

// Owner: `text` is taken, also on failure.
static struct seep_error *add_row(struct entries *entries, const struct seep_view_row *row, char *text,
                                  const struct seep_lsan_taken *taken) {
    int64_t blocks = row->live_blocks - row->suppressed_blocks;
    int64_t bytes = row->live_bytes - row->suppressed_bytes;
    bool is_new = true;
    uint64_t *id = text ? seep_map_at(&entries->ids, seep_hash_bytes(text, strlen(text)), &is_new) : NULL;
    if ((text && !id) ||
        !seep_grow(&entries->items, &entries->capacity, entries->nr_items + 1, sizeof(*entries->items))) {
        free(text);
        return seep_error_no_memory();
    }
    if (is_new) {
        if (id)
            *id = entries->nr_items;
        entries->items[entries->nr_items++] = (struct entry){text, blocks, bytes, row->kind, *taken};
        return NULL;
    }
    struct entry *entry = &entries->items[*id];
    free(text);
    seep_add_signed(&entry->blocks, blocks);
    seep_add_signed(&entry->bytes, bytes);
    entry->kind = SEEP_MIN(entry->kind, row->kind);
    return NULL;
}

static void put_amount(FILE *out, int64_t bytes, int64_t blocks, const char *more) {
    fprintf(out, "%s byte%s in %s%s block%s", seep_format_signed(bytes).text, seep_plural(bytes),
            seep_format_signed(blocks).text, more, seep_plural(blocks));
}

static void put_entry(FILE *out, const struct entry *entry) {
    fputs("# ", out);
    put_amount(out, entry->bytes, entry->blocks, "");
    if (entry->kind)
        fprintf(out, ", %s", seep_kind_name(entry->kind));
    fputc('\n', out);
    if (!entry->text)
        fputs("# by main itself, by an allocator, or not known: no leak: line is about this alone; "
              "Valgrind's form is\n",
              out);
    if (entry->taken.blocks > entry->blocks) {
        fputs("# no function is in these stacks alone: it takes ", out);
        put_amount(out, seep_time_less(entry->taken.bytes, entry->bytes),
                   seep_time_less(entry->taken.blocks, entry->blocks), " other");
        fputs(", too\n", out);
    }
    fputs(entry->text ? entry->text : "", out);
}

static struct seep_error *collect(struct seep_view *view, struct seep_lsan_census *census,
                                  struct entries *entries) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        const struct seep_view_row *row = &view->rows[i];
        if (row->live_blocks <= row->suppressed_blocks)
            continue;
        char *text = NULL;
        struct seep_lsan_taken taken = {0};
        error = census ? seep_lsan_choose(census, view, row, &text, &taken) : make_entry(view, row, &text);
        if (error)
            free(text);
        else
            error = add_row(entries, row, text, &taken);
    }
    return error;
}

static struct seep_error *put_all(FILE *out, struct seep_view *view, bool as_lsan) {
    struct entries entries = {.ids = SEEP_MAP_INIT};
    struct seep_lsan_census *census = NULL;
    struct seep_error *error = as_lsan ? seep_lsan_census_create(view, &census) : NULL;
    if (!error)
        error = collect(view, census, &entries);
    for (size_t i = 0; !error && i < entries.nr_items; i++)
        put_entry(out, &entries.items[i]);
    seep_lsan_census_destroy(census);
    entries_deinit(&entries);
    return error;
}

static struct seep_error *write_valgrind(FILE *out, struct seep_view *view,
                                         const struct seep_summary *summary) {
    return put_all(out, view, false);
}

static struct seep_error *write_lsan(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    return put_all(out, view, true);
}

const struct seep_output seep_output_valgrind = {
    .name = "valgrind",
    .suffix = ".supp",
    .what = "what leaks, as suppressions of Valgrind",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_PATHS | SEEP_OUTPUT_LEAKS,
    .write = write_valgrind,
};

const struct seep_output seep_output_lsan = {
    .name = "lsan",
    .suffix = ".supp",
    .what = "what leaks, as suppressions of LeakSanitizer",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_PATHS | SEEP_OUTPUT_LEAKS,
    .write = write_lsan,
};
