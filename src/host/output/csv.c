// SPDX-License-Identifier: BSD-2-Clause
// Fields and stacks of CSV, see csv.h.
#include <stdlib.h>
#include <string.h>

#include "output/csv.h"
#include "output/format.h"

struct seep_error *seep_csv_put_field(FILE *out, const char *text) {
    if (!text)
        return NULL;
    char *safe = seep_escape(text);
    if (!safe)
        return seep_error_no_memory();
    if (strpbrk(safe, "\",\n")) {
        fputc('"', out);
        for (const char *at = safe; *at; at++) {
            if (*at == '"')
                fputc('"', out);
            fputc(*at, out);
        }
        fputc('"', out);
    } else {
        fputs(safe, out);
    }
    free(safe);
    return NULL;
}

struct seep_error *seep_csv_put_place(FILE *out, const struct seep_view_frame *frames, size_t nr) {
    struct seep_error *error = seep_csv_put_field(out, nr ? frames[0].function : NULL);
    fputc(',', out);
    if (!error)
        error = seep_csv_put_field(out, nr ? frames[0].file : NULL);
    fputc(',', out);
    if (nr && frames[0].line)
        fprintf(out, "%u", frames[0].line);
    fputc(',', out);
    return error ? error : seep_csv_put_field(out, nr ? frames[0].module : NULL);
}

struct seep_error *seep_csv_places_make(struct seep_csv_places *places,
                                        const struct seep_stack_table *table) {
    size_t nr_bytes = 0;
    places->table = table;
    places->starts = calloc(table->nr_frames + 1, sizeof(*places->starts));
    FILE *whole = places->starts ? open_memstream(&places->text, &nr_bytes) : NULL;
    struct seep_error *error = whole ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < table->nr_frames; i++) {
        places->starts[i] = (size_t)ftell(whole);
        error = seep_csv_put_place(whole, &table->frames[i].frame, 1);
        fputc(0, whole);
    }
    if (whole && fclose(whole) != 0 && !error)
        error = seep_error_no_memory();
    return error;
}

void seep_csv_places_deinit(struct seep_csv_places *places) {
    free(places->text);
    free(places->starts);
}

static void put_columns(FILE *out, const struct seep_csv_places *places, uint32_t node, uint32_t caller) {
    if (node != SEEP_NO_STACK)
        seep_put_number(out, node);
    fputc(',', out);
    if (caller != SEEP_NO_STACK)
        seep_put_number(out, caller);
    fputc(',', out);
    fputs(node == SEEP_NO_STACK ? ",,," : places->text + places->starts[places->table->nodes[node].frame],
          out);
    fputc('\n', out);
}

void seep_csv_put_stack(FILE *out, const struct seep_csv_places *places, uint32_t node) {
    put_columns(out, places, node, SEEP_NO_STACK);
}

void seep_csv_put_stacks(FILE *out, const char *begin, const struct seep_csv_places *places) {
    for (size_t i = 0; i < places->table->nr_nodes; i++) {
        fputs(begin, out);
        put_columns(out, places, (uint32_t)i, places->table->nodes[i].caller);
    }
}
