// SPDX-License-Identifier: BSD-2-Clause
//
// A check as workflow commands of GitHub Actions, see check_report.h: one line each, which the runner turns
// into an annotation at the line of source. Source: GitHub, "Workflow commands for GitHub Actions".
#include <stdlib.h>
#include <string.h>

#include "output/check_report.h"

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

// An annotation at the line to look at first: a line of words, then the stack. `places` may be NULL.
static struct seep_error *put_finding(FILE *out, const char *title, const char *words,
                                      const struct seep_check_stack *stack,
                                      const struct seep_leak_places *places, bool amounts) {
    const struct seep_leak_frame *frame = seep_check_blamed(stack);
    char *message = NULL;
    size_t nr_bytes = 0;
    FILE *text = open_memstream(&message, &nr_bytes);
    if (!text)
        return seep_error_no_memory();
    fprintf(text, "%s\n", words);
    seep_put_folded_stack(text, stack, "  ");
    if (places)
        seep_put_leak_places(text, places, amounts, "  ");
    if (fclose(text) != 0) {
        free(message);
        return seep_error_no_memory();
    }
    fputs("::error ", out);
    if (frame && frame->file) {
        fputs("file=", out);
        put_encoded(out, seep_path_from_root(frame->file), true);
        if (frame->line)
            fprintf(out, ",line=%u", frame->line);
        fputc(',', out);
    }
    fprintf(out, "title=%s::", title);
    if (message && nr_bytes)
        message[nr_bytes - 1] = 0; // the last line end
    put_encoded(out, message, false);
    fputc('\n', out);
    free(message);
    return NULL;
}

static struct seep_error *put_leaks(FILE *out, const struct seep_check *check) {
    unsigned nr = 0;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < check->nr_leaks && nr < ANNOTATIONS_MAX; i++) {
        struct seep_leaked beyond = seep_leak_beyond(&check->leaks[i]);
        if (!beyond.blocks && !beyond.bytes)
            continue;
        nr++;
        error =
            put_finding(out, "memory leak", seep_leak_words(&check->leaks[i], beyond).text,
                        &check->leaks[i].stack, &check->leaks[i].places, !check->leaks[i].accepted_blocks);
    }
    return error;
}

static struct seep_error *put_wrong_frees(FILE *out, const struct seep_check *check) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < check->nr_wrong_frees && i < ANNOTATIONS_MAX; i++)
        error = put_finding(out, "wrong free", seep_wrong_free_words(&check->wrong_frees[i]).text,
                            &check->wrong_frees[i].freed, NULL, false);
    return error;
}

// One: who held most.
static struct seep_error *put_peak(FILE *out, const struct seep_check *check) {
    const struct seep_peak_holder *holder = seep_check_peak_culprit(check);
    if (!holder)
        return NULL;
    char words[256];
    snprintf(words, sizeof(words), "at the peak: %s", seep_peak_holder_words(check, holder).text);
    return put_finding(out, "memory peak", words, &holder->stack, &holder->places, true);
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
        size_t nr_alike = seep_check_nr_unsure_alike(check, i);
        if (!nr_alike)
            continue;
        fprintf(out, "::error title=seep check is not sure::");
        put_encoded(out, check->session->profiles[i]->process.name, false);
        if (nr_alike > 1)
            fprintf(out, " (%zu processes)", nr_alike);
        fputs(": ", out);
        put_encoded(out, check->processes[i].unsure, false);
        fputc('\n', out);
    }
    struct seep_error *error = check->broken[SEEP_BUDGET_LEAKED] ? put_leaks(out, check) : NULL;
    if (!error && check->broken[SEEP_BUDGET_MISMATCHES])
        error = put_wrong_frees(out, check);
    if (!error && check->broken[SEEP_BUDGET_PEAK])
        error = put_peak(out, check);
    return error;
}
