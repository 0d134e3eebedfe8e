// SPDX-License-Identifier: BSD-2-Clause
// What is known of one row of a live table: its stack, the sizes and ages of its blocks, who holds them.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/live_table.h"

#define FRAMES_MAX 256u

// ---- stack ----

static struct seep_error *put_frames(struct seep_live_detail *detail, struct seep_view *view,
                                     const struct seep_view_row *row) {
    const struct seep_view_frame *frames;
    size_t nr;
    struct seep_error *error = seep_view_frames(view, row, &frames, &nr, &detail->nr_more);
    if (error)
        return error;
    if (nr > FRAMES_MAX) {
        detail->nr_more += (uint32_t)(nr - FRAMES_MAX);
        nr = FRAMES_MAX;
    }
    detail->frames = seep_arena_alloc(&detail->arena, SEEP_MAX(nr, (size_t)1), sizeof(*detail->frames));
    if (!detail->frames)
        return seep_error_no_memory();
    bool self = false;
    for (size_t i = 0; i < nr; i++) {
        const struct seep_view_frame *f = &frames[i];
        const char *text = NULL;
        if (f->folded)
            continue;
        if (f->name && f->file && f->line)
            text = seep_arena_printf(&detail->arena, "%s (%s:%u)", f->name, f->file, f->line);
        else if (f->name)
            text = seep_arena_printf(&detail->arena, "%s [%s]", f->name, f->module);
        else
            text = seep_arena_printf(&detail->arena, "%s+0x%llx", f->module, (unsigned long long)f->offset);
        if (!text)
            return seep_error_no_memory();
        if (!self && !f->runtime) {
            self = true;
            detail->self = (uint32_t)detail->nr_frames;
        }
        detail->frames[detail->nr_frames++] = (struct seep_live_frame){.text = text, .inlined = f->inlined};
    }
    return NULL;
}

// ---- source ----

#define SOURCE_MAX (4u << 20) // bytes of a file that is read

// The name is what debug information says: it may be of a pipe or a device, which would make us wait.
static FILE *open_source(const char *path) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;
    FILE *file = NULL;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= (off_t)SOURCE_MAX)
        file = fdopen(fd, "r");
    if (!file)
        close(fd);
    return file;
}

static struct seep_error *read_source(struct seep_live_detail *detail, const char *path, unsigned line) {
    FILE *file = line ? open_source(path) : NULL;
    if (!file)
        return NULL;
    detail->source_line = line;
    detail->source_first = line > SEEP_LIVE_SOURCE / 2 ? line - SEEP_LIVE_SOURCE / 2 : 1;
    struct seep_error *error = NULL;
    char *text = NULL;
    size_t room = 0;
    for (unsigned i = 1; !error && detail->nr_source < SEEP_LIVE_SOURCE && getline(&text, &room, file) >= 0;
         i++) {
        if (i < detail->source_first)
            continue;
        text[strcspn(text, "\r\n")] = 0;
        for (char *at = text; *at; at++)
            *at = *at == '\t' ? ' ' : *at;
        const char *kept = seep_arena_strdup(&detail->arena, text);
        if (!kept)
            error = seep_error_no_memory();
        else
            detail->source[detail->nr_source++] = kept;
    }
    free(text);
    fclose(file);
    return error;
}

// The source file by its whole name, which the view's frames do not have.
static struct seep_error *put_source(struct seep_live_detail *detail, struct seep_view *view,
                                     const struct seep_view_row *row) {
    uint32_t frame;
    unsigned inlined;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_self(view->stacks, row->node, true, &frame, &inlined);
    if (error || frame == SEEP_NO_FRAME)
        return error;
    error = seep_stacks_resolve(view->stacks, frame, &symbol);
    if (error || !symbol->frames[inlined].file)
        return error;
    return read_source(detail, symbol->frames[inlined].file, symbol->frames[inlined].line);
}

// Rows that are not of one site have the stack of the one that has most: a view of its own.
static struct seep_error *put_stack(struct seep_live_detail *detail, const struct seep_live_table *table,
                                    const struct seep_live_row *row, struct seep_symbols *symbols) {
    if (!row->site)
        return NULL;
    const struct seep_profile *profile = table->session->profiles[row->process];
    detail->via = seep_via_name(profile->sites[row->site].via);
    if (table->view->options.by == SEEP_BY_SITE) {
        struct seep_error *error = put_frames(detail, table->view, row->row);
        return error ? error : put_source(detail, table->view, row->row);
    }
    struct seep_view_options options = seep_view_options_default;
    options.site = row->site;
    options.each_stack = true;
    options.like = table->view;
    struct seep_view *view = NULL;
    struct seep_error *error = seep_view_create(table->session, row->process, symbols, &options, &view);
    if (!error && view->nr_rows)
        error = put_frames(detail, view, &view->rows[0]);
    if (!error && view->nr_rows)
        error = put_source(detail, view, &view->rows[0]);
    seep_view_destroy(view);
    return error;
}

// ---- blocks ----

static void add_age(struct seep_live_detail *detail, int64_t age_ns) {
    if (age_ns < 0)
        return;
    int64_t minutes = age_ns / INT64_C(60000000000);
    detail->ages_known = true;
    detail->ages[minutes < 1 ? 0 : minutes < 10 ? 1 : minutes < 60 ? 2 : 3]++;
}

static bool is_of_row(const struct seep_live_table *table, size_t process, uint32_t site, size_t row) {
    return table->view->site_rows[process][site] == row + 1;
}

static void put_blocks(struct seep_live_detail *detail, const struct seep_live_table *table, size_t row) {
    for (size_t p = 0; p < table->view->nr_processes; p++) {
        const struct seep_profile *profile = table->session->profiles[p];
        for (size_t i = 0; i < profile->nr_blocks; i++) {
            const struct seep_block *block = &profile->blocks[i];
            if (block->site >= profile->nr_sites || !is_of_row(table, p, block->site, row))
                continue;
            unsigned class = block->size ? 63 - (unsigned)__builtin_clzll(block->size) : 0;
            if (!detail->sizes[class]++)
                detail->size_least[class] = block->size;
            detail->size_least[class] = SEEP_MIN(detail->size_least[class], block->size);
            detail->size_most[class] = SEEP_MAX(detail->size_most[class], block->size);
            add_age(detail, block->age_ns);
        }
    }
}

// ---- the last scan ----

static const struct seep_profile *scanned_of(const struct seep_live *live, const struct seep_profile *profile,
                                             uint32_t *ret_process) {
    if (!live->scanned)
        return NULL;
    size_t i = seep_profiles_find(live->scanned->profiles, live->scanned->nr_profiles, profile->process.pid,
                                  profile->process.start_realtime_ns);
    *ret_process = (uint32_t)i;
    return i < live->scanned->nr_profiles && live->scanned->profiles[i]->leaks.known
               ? live->scanned->profiles[i]
               : NULL;
}

static struct seep_error *put_holder(struct seep_live_detail *detail, const struct seep_session *session,
                                     uint32_t process, uint32_t site, struct seep_symbols *symbols) {
    const struct seep_profile *profile = session->profiles[process];
    if (site >= profile->nr_sites || !profile->sites[site].held)
        return NULL;
    struct seep_view_options options = seep_view_options_default;
    options.site = site;
    options.each_stack = true;
    struct seep_view *view = NULL;
    const char *text = NULL;
    struct seep_error *error = seep_view_create(session, process, symbols, &options, &view);
    if (!error)
        error = seep_view_chain(view, process, profile->sites[site].held, &text, NULL);
    if (!error && text) {
        detail->held = seep_arena_strdup(&detail->arena, text);
        if (!detail->held)
            error = seep_error_no_memory();
    }
    seep_view_destroy(view);
    return error;
}

// Sites keep their ids, so those of the scan are those of the look.
static struct seep_error *put_scanned(struct seep_live_detail *detail, const struct seep_live *live,
                                      const struct seep_live_table *table, size_t row,
                                      struct seep_symbols *symbols) {
    struct seep_error *error = NULL;
    size_t view_row = (size_t)(table->rows[row].row - table->view->rows);
    for (size_t p = 0; !error && p < table->view->nr_processes; p++) {
        uint32_t process = 0;
        const struct seep_profile *profile = table->session->profiles[p];
        const struct seep_profile *scanned =
            profile->leaks.known ? profile : scanned_of(live, profile, &process);
        if (!scanned || !scanned->block_kinds)
            continue;
        detail->scanned = true;
        for (size_t i = 0; i < scanned->nr_blocks; i++) {
            uint32_t site = scanned->blocks[i].site;
            if (site < profile->nr_sites && is_of_row(table, p, site, view_row) &&
                !seep_profile_block_suppressed(scanned, i))
                detail->kinds[scanned->block_kinds[i]]++;
        }
        if (p == table->rows[row].process && table->rows[row].site)
            error = put_holder(detail, scanned == profile ? table->session : live->scanned,
                               scanned == profile ? (uint32_t)p : process, table->rows[row].site, symbols);
    }
    return error;
}

struct seep_error *seep_live_detail_make(const struct seep_live *live, struct seep_symbols *symbols,
                                         const struct seep_live_table *table, size_t row,
                                         struct seep_live_detail *ret_detail) {
    struct seep_live_detail detail = {.arena = SEEP_ARENA_INIT};
    size_t view_row = (size_t)(table->rows[row].row - table->view->rows);
    struct seep_error *error = put_stack(&detail, table, &table->rows[row], symbols);
    if (!error && table->view->options.by != SEEP_BY_THREAD)
        put_blocks(&detail, table, view_row);
    if (!error)
        error = put_scanned(&detail, live, table, row, symbols);
    if (error) {
        seep_live_detail_deinit(&detail);
        return error;
    }
    *ret_detail = detail;
    return NULL;
}

void seep_live_detail_deinit(struct seep_live_detail *detail) {
    seep_arena_deinit(&detail->arena);
    *detail = (struct seep_live_detail){.arena = SEEP_ARENA_INIT};
}
