// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of a view as suppressions, ready for a file: in Valgrind's words or in LeakSanitizer's, for
// those tools and for seep. What lies inside of the C and C++ runtime is left open (`...`): its names
// depend on the version, and on whether its debug information is there.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "model/stacks.h"
#include "ui/format.h"
#include "ui/report.h"

#define LINES_MAX 20u // of a stack: Valgrind takes 24

// A name as part of a line: what would break the line matches any character instead.
static void put_name(FILE *out, const char *name) {
    for (; *name; name++)
        fputc((unsigned char)*name < ' ' ? '?' : *name, out);
}

static void put_figures(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    fprintf(out, "# %s bytes in %s blocks", seep_format_signed(row->live_bytes).text,
            seep_format_signed(row->live_blocks).text);
    if (row->kind)
        fprintf(out, ", %s", seep_kind_name(row->kind));
    fputc('\n', out);
}

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
    for (const char *at = linkage; *at; at++) {
        char one[2] = {*at, 0};
        bool structor = *at == '4' && at - linkage > 3 && (at[-1] == 'C' || at[-1] == 'D') && at[1] == 'E';
        put_name(out, structor ? "?" : one);
    }
}

static struct seep_error *put_entry(FILE *out, struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error = seep_view_frames(view, row, &frames, &nr, &more);
    if (error)
        return error;
    const char *name = NULL;
    for (size_t i = 0; i < nr && !name; i++)
        name = is_open(&frames[i]) ? NULL : frames[i].function;
    put_figures(out, view, row);
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

// ---- LeakSanitizer ----

// main is in every stack: where it would be the one to name, the innermost function is named instead.
static struct seep_error *choose_function(struct seep_view *view, const struct seep_view_row *row,
                                          const char **ret_function, const char **ret_linkage,
                                          const char **ret_module) {
    struct seep_stacks *stacks = view->stacks;
    uint32_t frame;
    unsigned inlined;
    struct seep_error *error = seep_stacks_self(stacks, row->node, true, &frame, &inlined);
    *ret_function = *ret_linkage = *ret_module = NULL;
    if (error || frame == SEEP_NO_FRAME)
        return error;
    *ret_function = stacks->frames[frame].symbol->frames[inlined].function;
    *ret_linkage = stacks->frames[frame].symbol->frames[inlined].linkage;
    *ret_module = stacks->modules[stacks->frames[frame].module].path;
    if (!*ret_function || strcmp(*ret_function, "main") != 0)
        return NULL;
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    error = seep_view_frames(view, row, &frames, &nr, &more);
    if (!error)
        *ret_function = nr ? frames[0].function : NULL;
    if (!error)
        *ret_linkage = nr ? frames[0].linkage : NULL;
    return error;
}

// The loader has a malloc of its own that calls the program's: its name would be on every leak.
static bool is_allocator(const char *function) {
    static const char *const names[] = {"malloc",   "calloc",        "realloc",        "reallocarray",
                                        "memalign", "aligned_alloc", "posix_memalign", "valloc",
                                        "pvalloc",  "operator new"};
    for (size_t i = 0; function && i < SEEP_ARRAY_SIZE(names); i++)
        if (strncmp(function, names[i], strlen(names[i])) == 0 &&
            (!function[strlen(names[i])] || strncmp(names[i], "operator", 8) == 0))
            return true;
    return false;
}

// NULL: there is no word for this stack alone.
static struct seep_error *make_pattern(struct seep_view *view, const struct seep_view_row *row,
                                       char **ret_pattern) {
    *ret_pattern = NULL;
    const char *function, *linkage, *module;
    struct seep_error *error = choose_function(view, row, &function, &linkage, &module);
    if (error || !module || (function && strcmp(function, "main") == 0) || is_allocator(function))
        return error;
    const char *slash = strrchr(module, '/');
    // LeakSanitizer of gcc shows functions of one file without their arguments.
    bool is_static = function && linkage && strncmp(linkage, "_ZL", 3) == 0;
    int nr = is_static  ? asprintf(ret_pattern, "leak:^%.*s", (int)strcspn(function, "("), function)
             : function ? asprintf(ret_pattern, "leak:^%s$", function)
                        : asprintf(ret_pattern, "leak:%s", slash ? slash + 1 : module);
    if (nr < 0) {
        *ret_pattern = NULL;
        return seep_error_no_memory();
    }
    // A $ in the middle would end the pattern.
    for (char *at = *ret_pattern; at[0]; at++)
        if ((*at == '$' && at[1]) || (unsigned char)*at < ' ')
            *at = '*';
    return NULL;
}

static struct seep_error *put_pattern(FILE *out, struct seep_view *view, const struct seep_view_row *row,
                                      struct seep_map *seen) {
    char *pattern;
    struct seep_error *error = make_pattern(view, row, &pattern);
    if (error)
        return error;
    if (!pattern) {
        put_figures(out, view, row);
        fputs("# by main itself, by an allocator, or not known: no leak: line is about this alone; "
              "Valgrind's form is\n",
              out);
        return NULL;
    }
    bool is_new;
    if (!seep_map_at(seen, seep_hash_bytes(pattern, strlen(pattern)), &is_new)) {
        free(pattern);
        return seep_error_no_memory();
    }
    if (is_new) {
        put_figures(out, view, row);
        fprintf(out, "%s\n", pattern);
    }
    free(pattern);
    return NULL;
}

struct seep_error *seep_report_suppressions(FILE *out, struct seep_view *view) {
    struct seep_map seen = SEEP_MAP_INIT;
    struct seep_error *error = NULL;
    bool as_lsan = view->options.gen_suppressions == SEEP_GEN_LSAN;
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        const struct seep_view_row *row = &view->rows[i];
        if (row->live_blocks <= row->suppressed_blocks)
            continue;
        error = as_lsan ? put_pattern(out, view, row, &seen) : put_entry(out, view, row);
    }
    seep_map_deinit(&seen);
    return error;
}
