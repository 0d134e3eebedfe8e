// SPDX-License-Identifier: BSD-2-Clause
// The result of a check for people, and the words that all forms share, see check_report.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_name.h"
#include "base/sum.h"
#include "base/words.h"
#include "output/check_report.h"
#include "output/format.h"
#include "output/report_text.h"
#include "output/wrap.h"
#include "names/short_name.h"
#include "profile/runtime_memory.h"

#define FRAMES_SHOWN    64u // of one stack; recursion fills the rest
#define FRAMES_OF_STACK 12u // of one for people; the files for servers have the rest
#define HOLDERS_SHOWN   3u  // of the peak
#define PLACES_SHOWN    5u  // of a leak, beside the line that leaks most

// ---- words ----

char *seep_process_label(const struct seep_session *session, uint32_t index) {
    const char *name = session->profiles[index]->process.name;
    unsigned nr_before = 0;
    for (uint32_t i = 0; i < index; i++)
        nr_before += strcmp(session->profiles[i]->process.name, name) == 0;
    char *label;
    int nr = nr_before ? asprintf(&label, "%s #%u", name, nr_before + 1) : asprintf(&label, "%s", name);
    return nr < 0 ? NULL : label;
}

struct seep_leak_words seep_leak_words(const struct seep_leak *leak, struct seep_leaked amount) {
    static const char *const kinds[SEEP_KIND_NR] = {"not freed", "lost", "indirectly lost", "possibly lost",
                                                    "reachable"};
    struct seep_leak_words words;
    snprintf(words.text, sizeof(words.text), "%s byte%s in %s block%s, %s, by %s",
             seep_format_count(amount.bytes).text, seep_plural(amount.bytes),
             seep_format_count(amount.blocks).text, seep_plural(amount.blocks),
             kinds[leak->kind < SEEP_KIND_NR ? leak->kind : 0], seep_via_name(leak->via));
    return words;
}

struct seep_leak_words seep_leak_place_words(const struct seep_leak_place *place) {
    struct seep_leak_words words;
    snprintf(words.text, sizeof(words.text), "%s byte%s in %s block%s", seep_format_count(place->bytes).text,
             seep_plural(place->bytes), seep_format_count(place->blocks).text, seep_plural(place->blocks));
    return words;
}

struct seep_leak_words seep_wrong_free_words(const struct seep_wrong_free *wrong) {
    struct seep_leak_words words;
    const char *count = seep_format_count(wrong->count).text;
    const char *via = seep_via_name(wrong->via), *release = seep_via_name(wrong->release_via);
    if (wrong->kind == SEEP_MISUSE_DOUBLE_FREE)
        snprintf(words.text, sizeof(words.text), "%s block%s of %s freed a second time, by %s", count,
                 seep_plural(wrong->count), via, release);
    else if (wrong->kind == SEEP_MISUSE_INSIDE)
        snprintf(words.text, sizeof(words.text), "%s address%s inside a live block of %s freed, by %s", count,
                 seep_plural_es(wrong->count), via, release);
    else if (wrong->kind == SEEP_MISUSE_STACK || wrong->kind == SEEP_MISUSE_STATIC ||
             wrong->kind == SEEP_MISUSE_WILD)
        snprintf(words.text, sizeof(words.text), "%s address%s %s freed, by %s", count,
                 seep_plural_es(wrong->count),
                 wrong->kind == SEEP_MISUSE_STACK    ? "on the thread's own stack"
                 : wrong->kind == SEEP_MISUSE_STATIC ? "of a variable"
                                                     : "where there is no memory",
                 release);
    else
        snprintf(words.text, sizeof(words.text), "%s block%s of %s freed by %s", count,
                 seep_plural(wrong->count), via, release);
    return words;
}

struct seep_leak_words seep_peak_holder_words(const struct seep_check *check,
                                              const struct seep_peak_holder *holder) {
    struct seep_leak_words words;
    snprintf(words.text, sizeof(words.text), "%s byte%s in %s block%s, %s of it, by %s",
             seep_format_count(holder->bytes).text, seep_plural(holder->bytes),
             seep_format_count(holder->blocks).text, seep_plural(holder->blocks),
             seep_format_share(holder->bytes, check->peak_known_bytes).text, seep_via_name(holder->via));
    return words;
}

const struct seep_peak_holder *seep_check_peak_culprit(const struct seep_check *check) {
    for (size_t i = 0; i < check->nr_peak_holders; i++) {
        const struct seep_leak_frame *frame = seep_check_blamed(&check->peak_holders[i].stack);
        if (frame && frame->file && !seep_leak_frame_is_library(frame))
            return &check->peak_holders[i];
    }
    return check->nr_peak_holders ? &check->peak_holders[0] : NULL;
}

struct seep_budget_words seep_budget_words(const struct seep_check *check, enum seep_check_budget budget) {
    const struct seep_check_options *options = &check->options;
    struct seep_budget_words words = {""};
    if (!check->broken[budget])
        return words;
    if (budget == SEEP_BUDGET_LEAKED) {
        snprintf(
            words.text, sizeof(words.text), "%s byte%s in %s block%s leaked%s, more than --max-leaked %s",
            seep_format_count(check->leaked_bytes).text, seep_plural(check->leaked_bytes),
            seep_format_count(check->leaked_blocks).text, seep_plural(check->leaked_blocks),
            options->baseline ? " beyond the baseline" : "", seep_format_count(options->max_leaked).text);
    } else if (budget == SEEP_BUDGET_PEAK) {
        const struct seep_process *process = &check->session->profiles[check->peak_process]->process;
        snprintf(words.text, sizeof(words.text),
                 "peak of %s bytes (%.64s, pid %" PRIu32 "), more than --max-peak %s",
                 seep_format_count(check->peak_bytes).text, process->name, process->pid,
                 seep_format_count(options->max_peak).text);
    } else if (budget == SEEP_BUDGET_MISMATCHES) {
        snprintf(words.text, sizeof(words.text),
                 "%s block%s freed in a wrong way, more than --max-mismatches %s",
                 seep_format_count(check->mismatches).text, check->mismatches == 1 ? " was" : "s were",
                 seep_format_count(options->max_mismatches).text);
    } else {
        snprintf(words.text, sizeof(words.text), "%s allocation%s, more than --max-allocations %s",
                 seep_format_count(check->allocations).text, seep_plural(check->allocations),
                 seep_format_count(options->max_allocations).text);
    }
    return words;
}

// `path` from the present folder, if `path` is in the folder; else `path`.
static const char *path_from_here(const char *path) {
    char here[4096];
    if (!getcwd(here, sizeof(here)))
        return path;
    size_t nr = strlen(here);
    return nr > 1 && strncmp(path, here, nr) == 0 && path[nr] == '/' && path[nr + 1] ? path + nr + 1 : path;
}

void seep_put_check_stack(FILE *out, const struct seep_check_stack *stack, const char *indentation) {
    for (uint32_t i = 0; i < stack->nr_frames && i < FRAMES_SHOWN; i++) {
        const struct seep_leak_frame *frame = &stack->frames[i];
        fputs(indentation, out);
        seep_put_escaped(out, frame->function ? frame->function : "??");
        seep_put_source(out, frame->file ? path_from_here(frame->file) : NULL, frame->line);
        fputs(" [", out);
        seep_put_escaped(out, seep_file_name(frame->module));
        if (!frame->function)
            fprintf(out, "+0x%" PRIx64, frame->offset);
        fputs(frame->inlined ? "] (inlined)\n" : "]\n", out);
    }
    if (stack->nr_frames > FRAMES_SHOWN)
        fprintf(out, "%s... %u more frames\n", indentation, stack->nr_frames - FRAMES_SHOWN);
    if (!stack->nr_frames)
        fprintf(out, "%s(stack not recorded)\n", indentation);
}

const struct seep_leak_frame *seep_check_blamed(const struct seep_check_stack *stack) {
    return stack->nr_frames ? &stack->frames[stack->blame] : NULL;
}

// ---- for people ----

static void put_shares(FILE *out, const struct seep_check *check, const struct seep_leak *leak) {
    if (check->session->nr_profiles < 2)
        return;
    fprintf(out, "    in %u process%s:", leak->nr_shares, seep_plural_es(leak->nr_shares));
    uint32_t shown = SEEP_MIN(leak->nr_shares, 6u);
    for (uint32_t i = 0; i < shown; i++) {
        const struct seep_process *process = &check->session->profiles[leak->shares[i].process]->process;
        fputs(i ? ", " : " ", out);
        seep_put_escaped(out, process->name);
        fprintf(out, " (pid %" PRIu32 ") %s byte%s", process->pid,
                seep_format_count(leak->shares[i].bytes).text, seep_plural(leak->shares[i].bytes));
    }
    fprintf(out, shown < leak->nr_shares ? ", and %u more\n" : "\n", leak->nr_shares - shown);
}

// Frames up to main, or without those of the runtime that a thread begins with.
static uint32_t own_frames(const struct seep_check_stack *stack) {
    uint32_t nr = stack->nr_frames;
    for (uint32_t i = 0; i < nr; i++)
        if (stack->frames[i].function && strcmp(stack->frames[i].function, "main") == 0)
            return i + 1;
    while (nr > 1 && stack->frames[nr - 1].runtime)
        nr--;
    return nr;
}

void seep_text_function(FILE *out, const char *function) {
    char *shorter = NULL;
    seep_error_destroy(seep_name_shorten(function, &shorter));
    seep_put_escaped(out, shorter ? shorter : function);
    free(shorter);
}

static void put_frame(FILE *out, const struct seep_leak_frame *frame, const char *indentation) {
    const char *module = seep_file_name(frame->module);
    fputs(indentation, out);
    if (frame->function)
        seep_text_function(out, frame->function);
    if (frame->function && frame->file && frame->line) {
        fputs(" (", out);
        seep_put_escaped(out, path_from_here(frame->file));
        fprintf(out, ":%u)\n", frame->line);
        return;
    }
    fputs(frame->function ? " [" : "[", out);
    seep_put_escaped(out, module);
    if (!frame->function)
        fprintf(out, "+0x%" PRIx64, frame->offset);
    fputs("]\n", out);
}

static const char *library_of(const struct seep_leak_frame *frame) {
    return !frame->runtime ? "templates of the C++ library" : seep_file_name(frame->module);
}

// Frames of one library from *at on are one line: the function that was called, where it has a name. *at is
// then the last of them.
static void put_library(FILE *out, const struct seep_check_stack *stack, uint32_t nr, uint32_t *at,
                        const char *indentation) {
    const char *library = library_of(&stack->frames[*at]);
    while (*at + 1 < nr && seep_leak_frame_is_library(&stack->frames[*at + 1]) &&
           strcmp(library_of(&stack->frames[*at + 1]), library) == 0)
        ++*at;
    fputs(indentation, out);
    if (stack->frames[*at].function) {
        seep_text_function(out, stack->frames[*at].function);
        fputc(' ', out);
    }
    fputc('[', out);
    seep_put_escaped(out, library);
    fputs("]\n", out);
}

void seep_put_folded_stack(FILE *out, const struct seep_check_stack *stack, const char *indentation) {
    uint32_t nr = own_frames(stack), i = 0;
    for (uint32_t shown = 0; i < nr && shown < FRAMES_OF_STACK; i++, shown++) {
        if (seep_leak_frame_is_library(&stack->frames[i]))
            put_library(out, stack, nr, &i, indentation);
        else
            put_frame(out, &stack->frames[i], indentation);
    }
    if (i < nr)
        fprintf(out, "%s... %u more\n", indentation, nr - i);
    if (!stack->nr_frames)
        fprintf(out, "%s(stack not recorded)\n", indentation);
}

void seep_put_leak_places(FILE *out, const struct seep_leak_places *places, bool amounts,
                          const char *indentation) {
    for (uint32_t i = 0; i < places->nr && i < PLACES_SHOWN; i++) {
        const struct seep_leak_place *place = &places->items[i];
        fputs(indentation, out);
        if (amounts)
            fprintf(out, "of these %s ", seep_leak_place_words(place).text);
        fputs("at ", out);
        seep_put_escaped(out, path_from_here(place->frame->file));
        fprintf(out, ":%u%s\n", place->frame->line, amounts ? "" : ", too");
    }
    if (places->nr > PLACES_SHOWN)
        fprintf(out, "%sand at %u more line%s\n", indentation, places->nr - PLACES_SHOWN,
                seep_plural(places->nr - PLACES_SHOWN));
}

static bool is_beyond(const struct seep_leak *leak) {
    struct seep_leaked beyond = seep_leak_beyond(leak);
    return beyond.blocks || beyond.bytes;
}

static void put_leaks(FILE *out, const struct seep_check *check, uint64_t top) {
    uint64_t nr_all = 0, shown = 0;
    for (size_t i = 0; i < check->nr_leaks; i++)
        nr_all += is_beyond(&check->leaks[i]);
    for (size_t i = 0; i < check->nr_leaks && (!top || shown < top); i++) {
        const struct seep_leak *leak = &check->leaks[i];
        if (!is_beyond(leak))
            continue;
        fprintf(out, "leak %" PRIu64 " of %" PRIu64 ": %s\n", ++shown, nr_all,
                seep_leak_words(leak, seep_leak_beyond(leak)).text);
        if (leak->accepted_blocks)
            fprintf(out, "    beyond the baseline, which accepts %s byte%s in %s block%s of it\n",
                    seep_format_count(leak->accepted_bytes).text, seep_plural(leak->accepted_bytes),
                    seep_format_count(leak->accepted_blocks).text, seep_plural(leak->accepted_blocks));
        if (leak->kind == SEEP_KIND_LOST && leak->owned_bytes > leak->bytes)
            fprintf(out, "    with what only it leads to: %s bytes in %s blocks\n",
                    seep_format_count(leak->owned_bytes).text, seep_format_count(leak->owned_blocks).text);
        put_shares(out, check, leak);
        seep_put_folded_stack(out, &leak->stack, "    ");
        seep_put_leak_places(out, &leak->places, !leak->accepted_blocks, "    ");
    }
    if (shown < nr_all)
        fprintf(out, "%s more leak%s: --top 0 shows all\n", seep_format_count(nr_all - shown).text,
                seep_plural(nr_all - shown));
}

static void put_wrong_frees(FILE *out, const struct seep_check *check, uint64_t top) {
    size_t shown = top ? (size_t)SEEP_MIN(top, (uint64_t)check->nr_wrong_frees) : check->nr_wrong_frees;
    for (size_t i = 0; i < shown; i++) {
        const struct seep_wrong_free *wrong = &check->wrong_frees[i];
        fprintf(out, "mismatch %zu of %zu: %s", i + 1, check->nr_wrong_frees,
                seep_wrong_free_words(wrong).text);
        if (check->session->nr_profiles > 1)
            fprintf(out, ", in pid %" PRIu32, check->session->profiles[wrong->process]->process.pid);
        fputc('\n', out);
        seep_put_folded_stack(out, &wrong->freed, "    ");
        if (!wrong->allocated.nr_frames)
            continue;
        fprintf(out, "  from %s\n", seep_via_name(wrong->via));
        seep_put_folded_stack(out, &wrong->allocated, "    ");
    }
    if (shown < check->nr_wrong_frees)
        fprintf(out, "%zu more mismatch%s: --top 0 shows all\n", check->nr_wrong_frees - shown,
                seep_plural_es(check->nr_wrong_frees - shown));
}

static void put_peak_holders(FILE *out, const struct seep_check *check) {
    for (size_t i = 0; i < check->nr_peak_holders && i < HOLDERS_SHOWN; i++) {
        const struct seep_peak_holder *holder = &check->peak_holders[i];
        fprintf(out, "at the peak: %s\n", seep_peak_holder_words(check, holder).text);
        seep_put_folded_stack(out, &holder->stack, "    ");
        seep_put_leak_places(out, &holder->places, true, "    ");
    }
}

void seep_check_put_findings(FILE *to, const struct seep_check *check, uint64_t top) {
    struct seep_style style = seep_style_of(to);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, &style);
    if (check->broken[SEEP_BUDGET_LEAKED])
        put_leaks(out, check, top);
    if (check->broken[SEEP_BUDGET_MISMATCHES])
        put_wrong_frees(out, check, top);
    if (check->broken[SEEP_BUDGET_PEAK])
        put_peak_holders(out, check);
    seep_wrap_done(&wrap);
}

static void put_unsure(FILE *out, const struct seep_check *check) {
    bool descendants_only = check->unsure;
    for (size_t i = 0; i < check->session->nr_profiles; i++) {
        if (!check->processes[i].unsure)
            continue;
        const struct seep_process *process = &check->session->profiles[i]->process;
        descendants_only &= process->pid != check->session->profiles[0]->process.pid;
        size_t nr_alike = seep_check_nr_unsure_alike(check, i);
        if (!nr_alike)
            continue;
        fputs("seep: check: not sure: ", out);
        seep_put_escaped(out, process->name);
        fprintf(out, " (pid %" PRIu32, process->pid);
        if (nr_alike > 1)
            fprintf(out, "; and %zu more", nr_alike - 1);
        fputs("): ", out);
        seep_put_escaped(out, check->processes[i].unsure);
        fputc('\n', out);
    }
    if (descendants_only)
        fputs("seep: check: only processes that the program started are not sure: '--children ignore' leaves "
              "out all processes that it starts\n",
              out);
}

static void put_taken(FILE *out, const char *what, uint64_t blocks, uint64_t bytes) {
    if (blocks)
        fprintf(out, "; %s: %s byte%s in %s block%s", what, seep_format_count(bytes).text, seep_plural(bytes),
                seep_format_count(blocks).text, seep_plural(blocks));
}

// Then that is our exit status too.
static void put_own_status(FILE *out, const struct seep_process *process) {
    if (process->exit_kind == SEEP_EXIT_CODE && process->exit_value)
        fprintf(out, "seep: check: the program itself exited with %d\n", process->exit_value);
    if (process->exit_kind != SEEP_EXIT_SIGNAL)
        return;
    fputs("seep: check: the program itself was ended by ", out);
    seep_text_exit(out, process);
    fputs(": this run fails\n", out);
}

static void put_runtimes(FILE *out, const struct seep_session *session) {
    for (size_t i = 0; i < SEEP_RUNTIME_NR; i++) {
        const struct seep_runtime_memory *memory = &seep_runtime_memory[i];
        uint64_t bytes = 0;
        for (size_t p = 0; p < session->nr_profiles; p++)
            seep_add_up(&bytes, seep_runtime_bytes(session->profiles[p], (enum seep_runtime)i));
        if (bytes)
            fprintf(out,
                    "seep: check: %s has %s%s of blocks in %s, where a lost one is not seen: run the check "
                    "with %s\n",
                    memory->name, memory->is_mapped ? "up to " : "", seep_format_bytes(bytes).text,
                    memory->pieces, memory->setting);
    }
}

void seep_check_put_verdict(FILE *to, const struct seep_check *check) {
    struct seep_style style = seep_style_of(to);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, &style);
    for (int i = 0; i < SEEP_BUDGET_NR; i++)
        if (check->broken[i])
            fprintf(out, "seep: check: %s\n", seep_budget_words(check, (enum seep_check_budget)i).text);
    put_unsure(out, check);
    if (seep_check_passed(check)) {
        if (check->leaked_blocks)
            fprintf(out, "seep: check: passed; leaked %s byte%s in %s block%s",
                    seep_format_count(check->leaked_bytes).text, seep_plural(check->leaked_bytes),
                    seep_format_count(check->leaked_blocks).text, seep_plural(check->leaked_blocks));
        else
            fprintf(out, "seep: check: passed; nothing leaked");
        put_taken(out, "in the baseline", check->accepted_blocks, check->accepted_bytes);
        put_taken(out, "suppressed", check->suppressed_blocks, check->suppressed_bytes);
        put_taken(out, "only possibly lost", check->possible_blocks, check->possible_bytes);
        if (check->mismatches)
            fprintf(out, "; %s mismatch%s", seep_format_count(check->mismatches).text,
                    seep_plural_es(check->mismatches));
        fprintf(out, "; peak %s, %s allocation%s", seep_format_bytes(check->peak_bytes).text,
                seep_format_count(check->allocations).text, seep_plural(check->allocations));
        if (check->session->nr_profiles > 1)
            fprintf(out, ", %zu processes", check->session->nr_profiles);
        fputc('\n', out);
        put_own_status(out, &check->session->profiles[0]->process);
    }
    if (check->nr_uncertain)
        fprintf(out,
                "seep: check: %s block%s freed in a way that may be right: not counted, because a module may "
                "call libc's own malloc; 'seep report' names it\n",
                seep_format_count(check->nr_uncertain).text, seep_plural(check->nr_uncertain));
    put_runtimes(out, check->session);
    if (check->nr_gone)
        fprintf(out,
                "seep: check: %s entr%s of the baseline leaked nothing in this run: mended, or of another "
                "program\n",
                seep_format_count(check->nr_gone).text, check->nr_gone == 1 ? "y" : "ies");
    seep_wrap_done(&wrap);
}
