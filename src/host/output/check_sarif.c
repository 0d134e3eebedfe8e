// SPDX-License-Identifier: BSD-2-Clause
//
// A check as SARIF 2.1.0, see check_report.h: a result for each leak, and for each budget that is broken
// otherwise. A leak's fingerprint is made of its key, so code hosts know it again when lines move.
#include <inttypes.h>

#include "base/map.h"
#include "base/version.h"
#include "output/check_report.h"
#include "output/json_build.h"

#define FRAMES_MAX  64u // of one stack
#define HOLDERS_MAX 10u // of a peak

enum rule {
    RULE_LOST,
    RULE_INDIRECT,
    RULE_POSSIBLE,
    RULE_NOT_FREED,
    RULE_PEAK,
    RULE_ALLOCATIONS,
    RULE_MISMATCH,
    RULE_NR
};

static const struct {
    const char *id;
    const char *name;
    const char *what;
} rules[RULE_NR] = {
    {"leak/lost", "LostBlock", "A block that no pointer leads to any more"},
    {"leak/indirect", "IndirectlyLostBlock", "A block that only lost blocks point to"},
    {"leak/possible", "PossiblyLostBlock", "A block that only pointers into the middle of blocks lead to"},
    {"leak/not-freed", "BlockNotFreed", "A block that was not freed; whether it is lost was not looked at"},
    {"budget/peak", "PeakBudget", "More heap memory at once than the budget allows"},
    {"budget/allocations", "AllocationsBudget", "More allocations than the budget allows"},
    {"free/mismatch", "WrongFree",
     "A block that was freed by the wrong function, twice, or by an address inside it"},
};

static enum rule rule_of(const struct seep_leak *leak) {
    return leak->kind == SEEP_KIND_LOST       ? RULE_LOST
           : leak->kind == SEEP_KIND_INDIRECT ? RULE_INDIRECT
           : leak->kind == SEEP_KIND_POSSIBLE ? RULE_POSSIBLE
                                              : RULE_NOT_FREED;
}

static json_t *text_object(const char *text) {
    json_t *object = json_object();
    set(&object, "text", string(text));
    return object;
}

// Source: RFC 3986: what a path of a URI has as it is.
static json_t *encoded(const char *prefix, const char *path) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$&'()*+,;=@";
    char *text = malloc(strlen(prefix) + 3 * strlen(path) + 1);
    if (!text)
        return NULL;
    size_t nr = (size_t)(stpcpy(text, prefix) - text);
    for (; *path; path++)
        nr += (size_t)sprintf(text + nr, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
    text[nr] = 0;
    json_t *value = json_string(text);
    free(text);
    return value;
}

// A file of the project is named from the project's folder, because GitHub and GitLab look it up there.
static json_t *artifact_json(const char *path) {
    json_t *object = json_object();
    const char *from_root = seep_path_from_root(path);
    if (from_root[0] == '/') {
        set(&object, "uri", encoded("file://", from_root));
    } else {
        set(&object, "uri", encoded("", from_root));
        set(&object, "uriBaseId", json_string("SRCROOT"));
    }
    return object;
}

static json_t *location_json(const struct seep_leak_frame *frame, const char *program) {
    json_t *physical = json_object();
    set(&physical, "artifactLocation", artifact_json(frame && frame->file ? frame->file : program));
    if (frame && frame->file && frame->line) {
        json_t *region = json_object();
        set(&region, "startLine", json_integer(frame->line));
        set(&physical, "region", region);
    }
    json_t *location = json_object();
    set(&location, "physicalLocation", physical);
    if (frame && frame->function) {
        json_t *logical = json_object();
        set(&logical, "fullyQualifiedName", string(frame->function));
        set(&logical, "kind", json_string("function"));
        json_t *all = json_array();
        append(&all, logical);
        set(&location, "logicalLocations", all);
    }
    return location;
}

static json_t *stack_json(const struct seep_check_stack *check_stack, const char *what) {
    json_t *frames = json_array();
    for (uint32_t i = 0; i < check_stack->nr_frames && i < FRAMES_MAX; i++) {
        const struct seep_leak_frame *frame = &check_stack->frames[i];
        json_t *object = json_object();
        set(&object, "location", location_json(frame, frame->module));
        set(&object, "module", string(frame->module));
        append(&frames, object);
    }
    json_t *stack = json_object();
    set(&stack, "message", text_object(what));
    set(&stack, "frames", frames);
    return stack;
}

static json_t *list_of(json_t *only) {
    json_t *list = json_array();
    append(&list, only);
    return list;
}

static json_t *result_json(enum rule rule, const char *level, json_t *message, json_t *location) {
    json_t *result = json_object();
    set(&result, "ruleId", json_string(rules[rule].id));
    set(&result, "ruleIndex", json_integer(rule));
    set(&result, "level", json_string(level));
    set(&result, "message", message);
    set(&result, "locations", list_of(location));
    return result;
}

static json_t *fingerprint_json(const char *key) {
    char text[24];
    snprintf(text, sizeof(text), "%016" PRIx64, seep_hash_bytes(key, strlen(key)));
    json_t *object = json_object();
    set(&object, "seepLeak/v2", json_string(text));
    return object;
}

static void append_places(json_t **stacks, const struct seep_leak_places *places) {
    for (uint32_t i = 0; i < places->nr; i++) {
        char words[sizeof(struct seep_leak_words) + 16];
        snprintf(words, sizeof(words), "%s allocated here", seep_leak_place_words(&places->items[i]).text);
        append(stacks, stack_json(&places->items[i].stack, words));
    }
}

static json_t *leak_json(const struct seep_check *check, const struct seep_leak *leak) {
    struct seep_leaked beyond = seep_leak_beyond(leak);
    bool is_new = beyond.blocks || beyond.bytes;
    struct seep_leaked all = {leak->blocks, leak->bytes};
    const struct seep_leak_frame *frame = seep_check_blamed(&leak->stack);
    const char *program = check->session->profiles[leak->shares[0].process]->process.exe;
    json_t *result = result_json(rule_of(leak), is_new ? "error" : "note",
                                 text_object(seep_leak_words(leak, is_new ? beyond : all).text),
                                 location_json(frame, program));
    json_t *stacks = list_of(stack_json(&leak->stack, "allocated here"));
    append_places(&stacks, &leak->places);
    set(&result, "stacks", stacks);
    set(&result, "partialFingerprints", fingerprint_json(leak->key));
    if (check->options.baseline)
        set(&result, "baselineState",
            json_string(!is_new                 ? "unchanged"
                        : leak->accepted_blocks ? "updated"
                                                : "new"));
    json_t *properties = json_object();
    set(&properties, "bytes", integer(leak->bytes));
    set(&properties, "blocks", integer(leak->blocks));
    set(&result, "properties", properties);
    return result;
}

static json_t *wrong_free_json(const struct seep_check *check, const struct seep_wrong_free *wrong) {
    const char *program = check->session->profiles[wrong->process]->process.exe;
    json_t *result = result_json(RULE_MISMATCH, check->broken[SEEP_BUDGET_MISMATCHES] ? "error" : "note",
                                 text_object(seep_wrong_free_words(wrong).text),
                                 location_json(seep_check_blamed(&wrong->freed), program));
    json_t *stacks = list_of(stack_json(&wrong->freed, "freed here"));
    if (wrong->allocated.nr_frames)
        append(&stacks, stack_json(&wrong->allocated, "allocated here"));
    set(&result, "stacks", stacks);
    return result;
}

// Points at what held most of the peak.
static json_t *peak_json(const struct seep_check *check, const char *program) {
    const struct seep_peak_holder *first = seep_check_peak_culprit(check);
    json_t *result =
        result_json(RULE_PEAK, "error", text_object(seep_budget_words(check, SEEP_BUDGET_PEAK).text),
                    location_json(first ? seep_check_blamed(&first->stack) : NULL, program));
    if (!first)
        return result;
    json_t *stacks = json_array();
    for (size_t i = 0; i < check->nr_peak_holders && i < HOLDERS_MAX; i++) {
        const struct seep_peak_holder *holder = &check->peak_holders[i];
        append(&stacks, stack_json(&holder->stack, seep_peak_holder_words(check, holder).text));
        append_places(&stacks, &holder->places);
    }
    set(&result, "stacks", stacks);
    return result;
}

static json_t *results_json(const struct seep_check *check) {
    json_t *results = json_array();
    for (size_t i = 0; i < check->nr_leaks; i++)
        append(&results, leak_json(check, &check->leaks[i]));
    for (size_t i = 0; i < check->nr_wrong_frees; i++)
        append(&results, wrong_free_json(check, &check->wrong_frees[i]));
    const char *program = check->session->profiles[0]->process.exe;
    if (check->broken[SEEP_BUDGET_PEAK])
        append(&results, peak_json(check, program));
    if (check->broken[SEEP_BUDGET_ALLOCATIONS])
        append(&results, result_json(RULE_ALLOCATIONS, "error",
                                     text_object(seep_budget_words(check, SEEP_BUDGET_ALLOCATIONS).text),
                                     location_json(NULL, program)));
    return results;
}

static json_t *driver_json(void) {
    json_t *list = json_array();
    for (int i = 0; i < RULE_NR; i++) {
        json_t *rule = json_object();
        set(&rule, "id", json_string(rules[i].id));
        set(&rule, "name", json_string(rules[i].name));
        set(&rule, "shortDescription", text_object(rules[i].what));
        append(&list, rule);
    }
    json_t *driver = json_object();
    set(&driver, "name", json_string("seep"));
    set(&driver, "semanticVersion", json_string(SEEP_VERSION));
    set(&driver, "rules", list);
    json_t *tool = json_object();
    set(&tool, "driver", driver);
    return tool;
}

// The program's run. What is not sure is said here, as it is about the run and no result of it.
static json_t *invocation_json(const struct seep_check *check) {
    const struct seep_process *process = &check->session->profiles[0]->process;
    json_t *notes = json_array();
    for (size_t i = 0; i < check->session->nr_profiles; i++) {
        if (!check->processes[i].unsure)
            continue;
        json_t *note = json_object();
        set(&note, "level", json_string("error"));
        set(&note, "message", text_object(check->processes[i].unsure));
        append(&notes, note);
    }
    json_t *arguments = json_array();
    for (uint32_t i = 1; i < process->nr_args; i++) // without the name of the program, says the standard
        append(&arguments, string(process->args[i]));
    json_t *invocation = json_object();
    set(&invocation, "executionSuccessful", json_boolean(!check->unsure));
    set(&invocation, "arguments", arguments);
    if (process->exit_kind == SEEP_EXIT_CODE)
        set(&invocation, "exitCode", json_integer(process->exit_value));
    else if (process->exit_kind == SEEP_EXIT_SIGNAL)
        set(&invocation, "exitSignalNumber", json_integer(process->exit_value));
    set(&invocation, "toolExecutionNotifications", notes);
    return invocation;
}

static json_t *bases_json(void) {
    char root[4096 + sizeof("/")];
    const char *path = seep_source_root();
    size_t length = strlen(path);
    snprintf(root, sizeof(root), "%s%s", path, length && path[length - 1] == '/' ? "" : "/");
    json_t *base = json_object();
    set(&base, "uri", encoded("file://", root));
    json_t *bases = json_object();
    set(&bases, "SRCROOT", base);
    return bases;
}

// Takes both.
static struct seep_error *put(FILE *out, json_t *invocation, json_t *results) {
    json_t *run = json_object();
    set(&run, "tool", driver_json());
    set(&run, "invocations", list_of(invocation));
    set(&run, "originalUriBaseIds", bases_json());
    set(&run, "columnKind", json_string("utf16CodeUnits"));
    set(&run, "results", results);
    json_t *root = json_object();
    set(&root, "$schema", json_string("https://json.schemastore.org/sarif-2.1.0.json"));
    set(&root, "version", json_string("2.1.0"));
    set(&root, "runs", list_of(run));
    char *text = text_of_json(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    if (!text)
        return seep_error_no_memory();
    fprintf(out, "%s\n", text);
    free(text);
    return NULL;
}

struct seep_error *seep_check_put_sarif(FILE *out, const struct seep_check *check) {
    return put(out, invocation_json(check), results_json(check));
}

struct seep_error *seep_check_put_sarif_not_run(FILE *out, const struct seep_check_not_run *not_run) {
    json_t *note = json_object();
    set(&note, "level", json_string("error"));
    set(&note, "message", text_object(not_run->why));
    json_t *invocation = json_object();
    set(&invocation, "executionSuccessful", json_false());
    set(&invocation, "processStartFailureMessage", string(not_run->why));
    set(&invocation, "toolExecutionNotifications", list_of(note));
    return put(out, invocation, json_array());
}
