// SPDX-License-Identifier: BSD-2-Clause
//
// A check as workflow commands of GitHub Actions, see check_report.h: one line each, which the runner turns
// into an annotation at the line of source. Source: GitHub, "Workflow commands for GitHub Actions".
#include <stdlib.h>
#include <string.h>

#include "output/check_report.h"
#include "output/format.h"

// The runner shows ten annotations of a step.
#define ANNOTATIONS_MAX 10u

static void put_encoded(FILE *out, const char *text, bool property) {
    for (; *text; text++) {
        if (*text == '%' || (unsigned char)*text < ' ' || (property && (*text == ':' || *text == ',')))
            fprintf(out, "%%%02X", (unsigned char)*text);
        else
            fputc(*text, out);
    }
}

static struct seep_error *put_leak(FILE *out, const struct seep_leak *leak) {
    const struct seep_leak_frame *frame = leak->nr_frames ? &leak->frames[leak->blame] : NULL;
    char *stack = NULL;
    size_t nr_bytes = 0;
    FILE *text = open_memstream(&stack, &nr_bytes);
    if (!text)
        return seep_error_no_memory();
    fprintf(text, "%s\n", seep_leak_words(leak, seep_leak_beyond(leak)).text);
    seep_put_leak_stack(text, leak, "  ");
    if (fclose(text) != 0) {
        free(stack);
        return seep_error_no_memory();
    }
    fputs("::error ", out);
    if (frame && frame->file) {
        fputs("file=", out);
        put_encoded(out, seep_path_from_here(frame->file), true);
        if (frame->line)
            fprintf(out, ",line=%u", frame->line);
        fputc(',', out);
    }
    fputs("title=memory leak::", out);
    if (stack && nr_bytes)
        stack[nr_bytes - 1] = 0; // the last line end
    put_encoded(out, stack, false);
    fputc('\n', out);
    free(stack);
    return NULL;
}

static struct seep_error *put_leaks(FILE *out, const struct seep_check *check) {
    unsigned nr = 0;
    for (size_t i = 0; i < check->nr_leaks && nr < ANNOTATIONS_MAX; i++) {
        struct seep_leaked beyond = seep_leak_beyond(&check->leaks[i]);
        if (!beyond.blocks && !beyond.bytes)
            continue;
        nr++;
        struct seep_error *error = put_leak(out, &check->leaks[i]);
        if (error)
            return error;
    }
    return NULL;
}

struct seep_error *seep_check_put_github(FILE *out, const struct seep_check *check) {
    for (int i = 0; i < SEEP_BUDGET_NR; i++) {
        if (!check->broken[i])
            continue;
        fprintf(out, "::error title=seep check::");
        put_encoded(out, seep_budget_words(check, (enum seep_check_budget)i).text, false);
        fputc('\n', out);
    }
    for (size_t i = 0; i < check->session->nr_profiles; i++) {
        if (!check->processes[i].unsure)
            continue;
        fprintf(out, "::error title=seep check is not sure::");
        put_encoded(out, check->session->profiles[i]->process.name, false);
        fputs(": ", out);
        put_encoded(out, check->processes[i].unsure, false);
        fputc('\n', out);
    }
    return check->broken[SEEP_BUDGET_LEAKED] ? put_leaks(out, check) : NULL;
}
