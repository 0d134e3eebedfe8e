// SPDX-License-Identifier: BSD-2-Clause
//
// A check as JUnit XML, see check_report.h. There is no standard; this is the part that Jenkins, GitLab,
// GitHub's report actions and others read alike: testsuites, testsuite, testcase, failure, error.
// A suite for each process, named as its program, with the same cases in every run.
#include <inttypes.h>
#include <stdlib.h>

#include "base/file_name.h"
#include "base/words.h"
#include "output/check_report.h"
#include "output/format.h"

// Source: XML 1.0, 2.2 (Characters) and 2.4: what is no character of XML is shown as U+FFFD.
static void put_xml(FILE *out, const char *text) {
    while (*text) {
        uint32_t code;
        unsigned length = seep_utf8_next(text, &code);
        bool bad =
            !length || (code < ' ' && code != '\n' && code != '\t') || code == 0xfffe || code == 0xffff;
        if (bad)
            fputs("\xef\xbf\xbd", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            fwrite(text, 1, length, out);
        text += SEEP_MAX(length, 1u);
    }
}

#define HOLDERS_MAX 10u // of a peak

// ---- what is wrong with a process ----

static bool leaks_fail(const struct seep_check *check, uint32_t process) {
    const struct seep_check_process *p = &check->processes[process];
    return check->broken[SEEP_BUDGET_LEAKED] && (p->leaked_blocks || p->leaked_bytes);
}

static bool peak_fails(const struct seep_check *check, uint32_t process) {
    return check->session->profiles[process]->totals.peak_bytes > check->options.max_peak;
}

// Counted over all processes, so they fail together; each names its own.
static bool mismatches_fail(const struct seep_check *check, uint32_t process) {
    bool any = false;
    for (size_t i = 0; i < check->nr_wrong_frees; i++)
        any |= check->wrong_frees[i].process == process;
    return any && check->broken[SEEP_BUDGET_MISMATCHES];
}

static bool exit_fails(const struct seep_process *process) {
    return process->exit_kind == SEEP_EXIT_SIGNAL ||
           (process->exit_kind == SEEP_EXIT_CODE && process->exit_value);
}

struct numbers {
    unsigned tests;
    unsigned failures;
    unsigned errors;
    unsigned skipped;
};

// What leaked of it is not known: the case says why, and does not pass.
static const char *why_not_known(const struct seep_check *check, uint32_t process) {
    return leaks_fail(check, process) ? NULL : check->processes[process].unsure;
}

static struct numbers count(const struct seep_check *check, uint32_t process) {
    const struct seep_check_options *options = &check->options;
    const struct seep_process *p = &check->session->profiles[process]->process;
    return (struct numbers){
        .tests = 3u + (options->max_peak != SEEP_NO_BUDGET) + (process == 0) +
                 (process == 0 && options->max_allocations != SEEP_NO_BUDGET),
        .failures = (unsigned)leaks_fail(check, process) + peak_fails(check, process) +
                    mismatches_fail(check, process) + (process == 0 && exit_fails(p)) +
                    (process == 0 && check->broken[SEEP_BUDGET_ALLOCATIONS]),
        .errors = check->processes[process].unsure != NULL,
        .skipped = why_not_known(check, process) != NULL,
    };
}

// ---- cases ----

static void put_case(FILE *out, const char *suite, const char *name, const char *trouble, const char *type,
                     const char *message) {
    fputs("  <testcase classname=\"seep.", out);
    put_xml(out, suite);
    fprintf(out, "\" name=\"%s\" time=\"0\"", name);
    if (!trouble) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, ">\n   <%s type=\"%s\" message=\"", trouble, type);
    put_xml(out, message);
    fprintf(out, "\"/>\n  </testcase>\n");
}

static struct seep_error *put_stacks(FILE *out, const struct seep_check *check, uint32_t process) {
    char *text = NULL;
    size_t nr_bytes = 0;
    FILE *stacks = open_memstream(&text, &nr_bytes);
    if (!stacks)
        return seep_error_no_memory();
    for (size_t i = 0; i < check->nr_leaks; i++) {
        const struct seep_leak *leak = &check->leaks[i];
        struct seep_leaked beyond = seep_leak_beyond(leak);
        for (uint32_t s = 0; (beyond.blocks || beyond.bytes) && s < leak->nr_shares; s++) {
            struct seep_leaked share = {leak->shares[s].blocks, leak->shares[s].bytes};
            if (leak->shares[s].process != process)
                continue;
            fprintf(stacks, "%s\n", seep_leak_words(leak, share).text);
            seep_put_check_stack(stacks, &leak->stack, "    ");
            seep_put_leak_places(stacks, &leak->places, leak->nr_shares == 1, "    ");
        }
    }
    if (fclose(stacks) == 0)
        put_xml(out, text);
    free(text);
    return text ? NULL : seep_error_no_memory();
}

static struct seep_error *put_leaks(FILE *out, const struct seep_check *check, uint32_t process,
                                    const char *suite) {
    const struct seep_check_process *p = &check->processes[process];
    if (!leaks_fail(check, process)) {
        const char *why = why_not_known(check, process);
        put_case(out, suite, "leaks", why ? "skipped" : NULL, "unsure", why);
        return NULL;
    }
    fputs("  <testcase classname=\"seep.", out);
    put_xml(out, suite);
    fprintf(out,
            "\" name=\"leaks\" time=\"0\">\n   <failure type=\"leaked\" message=\"%s byte%s in %s block%s "
            "leaked%s\">",
            seep_format_count(p->leaked_bytes).text, seep_plural(p->leaked_bytes),
            seep_format_count(p->leaked_blocks).text, seep_plural(p->leaked_blocks),
            check->options.baseline ? " beyond the baseline" : "");
    struct seep_error *error = put_stacks(out, check, process);
    fputs("</failure>\n  </testcase>\n", out);
    return error;
}

// A case that fails with a text behind its message; `put` writes it.
static struct seep_error *put_failure(FILE *out, const struct seep_check *check, uint32_t process,
                                      const char *suite, const char *name, const char *message,
                                      void (*put)(FILE *, const struct seep_check *, uint32_t)) {
    char *text = NULL;
    size_t nr_bytes = 0;
    FILE *stacks = open_memstream(&text, &nr_bytes);
    if (!stacks)
        return seep_error_no_memory();
    put(stacks, check, process);
    if (fclose(stacks) != 0 || !text) {
        free(text);
        return seep_error_no_memory();
    }
    fputs("  <testcase classname=\"seep.", out);
    put_xml(out, suite);
    fprintf(out, "\" name=\"%s\" time=\"0\">\n   <failure type=\"%s\" message=\"", name, name);
    put_xml(out, message);
    fputs("\">", out);
    put_xml(out, text);
    fputs("</failure>\n  </testcase>\n", out);
    free(text);
    return NULL;
}

static void put_wrong_frees(FILE *out, const struct seep_check *check, uint32_t process) {
    for (size_t i = 0; i < check->nr_wrong_frees; i++) {
        const struct seep_wrong_free *wrong = &check->wrong_frees[i];
        if (wrong->process != process)
            continue;
        fprintf(out, "%s\n", seep_wrong_free_words(wrong).text);
        seep_put_check_stack(out, &wrong->freed, "    ");
        if (wrong->allocated.nr_frames) {
            fprintf(out, "  from %s\n", seep_via_name(wrong->via));
            seep_put_check_stack(out, &wrong->allocated, "    ");
        }
    }
}

static struct seep_error *put_mismatches(FILE *out, const struct seep_check *check, uint32_t process,
                                         const char *suite) {
    if (mismatches_fail(check, process))
        return put_failure(out, check, process, suite, "mismatches",
                           seep_budget_words(check, SEEP_BUDGET_MISMATCHES).text, put_wrong_frees);
    put_case(out, suite, "mismatches", NULL, NULL, NULL);
    return NULL;
}

static void put_holders(FILE *out, const struct seep_check *check, uint32_t process) {
    for (size_t i = 0; process == check->peak_process && i < check->nr_peak_holders && i < HOLDERS_MAX; i++) {
        fprintf(out, "%s\n", seep_peak_holder_words(check, &check->peak_holders[i]).text);
        seep_put_check_stack(out, &check->peak_holders[i].stack, "    ");
        seep_put_leak_places(out, &check->peak_holders[i].places, true, "    ");
    }
}

static struct seep_error *put_peak(FILE *out, const struct seep_check *check, uint32_t process,
                                   const char *suite) {
    char message[160];
    if (check->options.max_peak == SEEP_NO_BUDGET)
        return NULL;
    snprintf(message, sizeof(message), "peak of %s bytes, more than --max-peak %s",
             seep_format_count(check->session->profiles[process]->totals.peak_bytes).text,
             seep_format_count(check->options.max_peak).text);
    if (peak_fails(check, process))
        return put_failure(out, check, process, suite, "peak", message, put_holders);
    put_case(out, suite, "peak", NULL, NULL, NULL);
    return NULL;
}

static void put_exit(FILE *out, const struct seep_process *process, const char *suite) {
    char message[64];
    if (process->exit_kind == SEEP_EXIT_SIGNAL)
        snprintf(message, sizeof(message), "killed by signal %d", process->exit_value);
    else
        snprintf(message, sizeof(message), "exit status %d", process->exit_value);
    put_case(out, suite, "exit", exit_fails(process) ? "failure" : NULL, "exit", message);
}

// ---- suites ----

static void put_properties(FILE *out, const struct seep_profile *profile) {
    const struct seep_process *process = &profile->process;
    fprintf(out,
            "  <properties>\n   <property name=\"pid\" value=\"%" PRIu32
            "\"/>\n   <property name=\"command\" value=\"",
            process->pid);
    for (uint32_t i = 0; i < process->nr_args; i++) {
        fputs(i ? " " : "", out);
        put_xml(out, process->args[i]);
    }
    fprintf(out, "\"/>\n   <property name=\"peak_bytes\" value=\"%" PRIu64 "\"/>\n",
            profile->totals.peak_bytes);
    fprintf(out, "   <property name=\"allocations\" value=\"%" PRIu64 "\"/>\n  </properties>\n",
            profile->totals.allocations);
}

static struct seep_error *put_suite(FILE *out, const struct seep_check *check, uint32_t index) {
    const struct seep_profile *profile = check->session->profiles[index];
    struct numbers numbers = count(check, index);
    char *suite = seep_process_label(check->session, index);
    if (!suite)
        return seep_error_no_memory();
    fputs(" <testsuite name=\"", out);
    put_xml(out, suite);
    fprintf(
        out,
        "\" tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\" time=\"%.3f\" timestamp=\"%.19s\">\n",
        numbers.tests, numbers.failures, numbers.errors, numbers.skipped,
        (double)SEEP_MAX(profile->process.duration_ns, (int64_t)0) / 1e9,
        seep_format_time(profile->process.start_realtime_ns).text);
    put_properties(out, profile);
    const char *unsure = check->processes[index].unsure;
    put_case(out, suite, "traced", unsure ? "error" : NULL, "unsure", unsure);
    struct seep_error *error = put_leaks(out, check, index, suite);
    if (!error)
        error = put_mismatches(out, check, index, suite);
    if (!error)
        error = put_peak(out, check, index, suite);
    if (index == 0 && check->options.max_allocations != SEEP_NO_BUDGET)
        put_case(out, suite, "allocations", check->broken[SEEP_BUDGET_ALLOCATIONS] ? "failure" : NULL,
                 "allocations", seep_budget_words(check, SEEP_BUDGET_ALLOCATIONS).text);
    if (index == 0)
        put_exit(out, &profile->process, suite);
    fputs(" </testsuite>\n", out);
    free(suite);
    return error;
}

struct seep_error *seep_check_put_junit(FILE *out, const struct seep_check *check) {
    struct numbers all = {0};
    for (uint32_t i = 0; i < check->session->nr_profiles; i++) {
        struct numbers numbers = count(check, i);
        all.tests += numbers.tests;
        all.failures += numbers.failures;
        all.errors += numbers.errors;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    fprintf(out, "<testsuites name=\"seep check\" tests=\"%u\" failures=\"%u\" errors=\"%u\">\n", all.tests,
            all.failures, all.errors);
    struct seep_error *error = NULL;
    for (uint32_t i = 0; !error && i < check->session->nr_profiles; i++)
        error = put_suite(out, check, i);
    fputs("</testsuites>\n", out);
    return error;
}

void seep_check_put_junit_not_run(FILE *out, const struct seep_check_not_run *not_run) {
    const char *name = seep_file_name(not_run->program);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<testsuites name=\"seep check\" tests=\"1\" failures=\"0\" errors=\"1\">\n <testsuite name=\"",
          out);
    put_xml(out, name);
    fputs("\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0.000\">\n", out);
    put_case(out, name, "traced", "error", "not-run", not_run->why);
    fputs(" </testsuite>\n</testsuites>\n", out);
}
