// SPDX-License-Identifier: BSD-2-Clause
//
// `seep info`: what this build, machine and kernel can do, and why not. It looks and tries, it never
// guesses: what could not be found out is "not known".
#include <errno.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/version.h"
#include "source/attach/bpf_program.h"
#include "source/run/program.h"
#include "process/rights.h"
#include "command/command.h"
#include "console/line_editor.h"
#include "names/kallsyms.h"
#include "names/module_file.h"
#include "output/format.h"
#include "output/wrap.h"
#include "output/output.h"
#include "plot/pen.h"
#include "screen/full_screen.h"
#include "wire/noise.h"

struct info_options {
    bool json;
};

static const struct seep_option_group info_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"json", 0, SEEP_OPTION_FLAG, offsetof(struct info_options, json), .help = "the same as JSON"},
            {NULL},
        },
    .values_bytes = sizeof(struct info_options),
};

enum verdict { FACT, GOOD, BAD };

struct item {
    const char *section;
    const char *name;
    char *value; // malloc'ed
    enum verdict verdict;
    char *what_to_do; // malloc'ed; NULL: nothing
};

#define MAX_ITEMS 64
struct info {
    struct item items[MAX_ITEMS];
    size_t nr_items;
    bool out_of_memory;
};

static SEEP_PRINTF(5, 6) struct item *add(struct info *info, const char *section, const char *name,
                                          enum verdict verdict, const char *format, ...) {
    static struct item spare; // for the item that does not fit; the whole is then an error
    va_list args;
    va_start(args, format);
    char *value = NULL;
    if (info->nr_items == MAX_ITEMS || vasprintf(&value, format, args) < 0) {
        info->out_of_memory = true;
        va_end(args);
        return &spare;
    }
    va_end(args);
    struct item *item = &info->items[info->nr_items++];
    *item = (struct item){section, name, value, verdict, NULL};
    return item;
}

static void advise(struct info *info, struct item *item, const char *text) {
    free(item->what_to_do);
    item->what_to_do = strdup(text);
    info->out_of_memory |= !item->what_to_do;
}

// The first number in a small file of /proc or /sys; false: it is not there.
static bool read_number(const char *path, long long *ret_value) {
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fscanf(file, "%lld", ret_value) == 1;
    fclose(file);
    return read;
}

static bool meminfo(const char *key, unsigned long long *ret_kib) {
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file)
        return false;
    char line[128];
    bool found = false;
    size_t nr = strlen(key);
    while (!found && fgets(line, sizeof(line), file))
        found = strncmp(line, key, nr) == 0 && line[nr] == ':' && sscanf(line + nr + 1, "%llu", ret_kib) == 1;
    fclose(file);
    return found;
}

// ---- build ----

// What a build without a library lacks; `make build` says these lines too.
#define LEFT_OUT "left out of this build"

// What is there, by blanks: a list of names that ends with NULL.
static void add_names(struct info *info, const char *name, const char *const *names) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && names[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", names[i]);
    if (out && fclose(out) == 0)
        add(info, "build", name, FACT, "%s", text);
    else
        info->out_of_memory = true;
    free(text);
}

static void add_commands(struct info *info) {
    const char *names[64] = {NULL};
    for (size_t i = 0; seep_commands[i] && i + 1 < SEEP_ARRAY_SIZE(names); i++)
        names[i] = seep_commands[i]->name;
    add_names(info, "commands", names);
}

// What a library is missing for is said with the library: it can be had.
static void add_formats(struct info *info) {
    const char *names[64] = {NULL};
    size_t nr = 0;
    for (size_t i = 0; seep_outputs[i] && nr + 1 < SEEP_ARRAY_SIZE(names); i++)
        if (!seep_outputs[i]->lacks)
            names[nr++] = seep_outputs[i]->name;
    add_names(info, "formats", names);
    if (!seep_line_editor_is_built)
        advise(info, add(info, "build", "libedit", BAD, LEFT_OUT),
               "history and completion in seep connect need it");
    if (!seep_full_screen_is_built)
        advise(info, add(info, "build", "ncursesw", BAD, LEFT_OUT), "the full screen of seep top needs it");
    if (!seep_noise_is_there())
        advise(info, add(info, "build", "BearSSL", BAD, LEFT_OUT), "links over a network (tcp:) need it");
    if (seep_pen_png_lacks)
        advise(info, add(info, "build", seep_pen_png_lacks, BAD, LEFT_OUT), "seep plot -o x.png needs it");
    for (size_t i = 0; seep_outputs[i]; i++) {
        if (!seep_outputs[i]->lacks)
            continue;
        struct item *item = add(info, "build", seep_outputs[i]->lacks, BAD, LEFT_OUT);
        char *what = NULL;
        if (asprintf(&what, "--format %s needs it", seep_outputs[i]->name) < 0)
            info->out_of_memory = true;
        else
            advise(info, item, what);
        free(what);
    }
}

static void add_build(struct info *info) {
    add(info, "build", "version", FACT, "%s", SEEP_VERSION);
    add(info, "build", "compiler", FACT, "%s", __VERSION__);
    add_commands(info);
    add_formats(info);
    char *library = NULL;
    struct seep_error *error = seep_library_place(false, &library);
    if (error) {
        struct item *item = add(info, "build", "libseep.so", BAD, "%s", error->message);
        if (error->hint)
            advise(info, item, error->hint);
        seep_error_destroy(error);
    } else {
        add(info, "build", "libseep.so", GOOD, "%s", library);
    }
#ifdef __x86_64__
    char *narrow = library ? seep_library_of_others(library, SEEP_LIBRARY_OF_32_BITS) : NULL;
    if (narrow)
        add(info, "build", "32-bit programs", GOOD, "%s", narrow);
    else if (library)
        advise(info, add(info, "build", "32-bit programs", FACT, "%s", LEFT_OUT),
               "build seep where gcc makes 32-bit programs (gcc-i686-linux-gnu, gcc-multilib): without it "
               "they run "
               "untraced");
    free(narrow);
#endif
    free(library);
}

// ---- machine ----

static void add_machine(struct info *info) {
    struct utsname name;
    if (uname(&name) == 0)
        add(info, "machine", "kernel", FACT, "%s %s, %s", name.sysname, name.release, name.machine);
    add(info, "machine", "C library", FACT, "glibc %s", gnu_get_libc_version());
    add(info, "machine", "processors", FACT, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    unsigned long long available_kib, swap_kib;
    if (meminfo("MemAvailable", &available_kib))
        add(info, "machine", "memory available", FACT, "%s", seep_format_bytes(available_kib * 1024).text);
    if (meminfo("SwapFree", &swap_kib))
        add(info, "machine", "swap free", FACT, "%s", seep_format_bytes(swap_kib * 1024).text);
}

// ---- what can be done ----

static void add_memory_file(struct info *info) {
    int fd = memfd_create("seep-info", MFD_CLOEXEC);
    if (fd < 0) {
        struct item *item = add(info, "tracing", "memory files", BAD, "memfd_create: %s", strerror(errno));
        advise(info, item, "a sandbox forbids it: allow memfd_create");
        return;
    }
    // As big as an image, and sparse: this is what a small limit of file or address space forbids.
    const off_t big = (off_t)1 << 40;
    if (ftruncate(fd, big) != 0) {
        struct item *item = add(info, "tracing", "memory files", BAD, "no file of %s: %s",
                                seep_format_bytes((uint64_t)big).text, strerror(errno));
        advise(info, item, "raise the limit of file size: ulimit -f unlimited");
    } else {
        add(info, "tracing", "memory files", GOOD, "work, sparse ones up to %s at least",
            seep_format_bytes((uint64_t)big).text);
    }
    close(fd);
}

// musl's loader takes the library as it is; its name has musl's word for the processor.
static void add_programs(struct info *info) {
    glob_t found;
    int state = glob("/lib/ld-musl-*.so.1", 0, NULL, &found);
    if (state == 0)
        add(info, "tracing", "programs of musl", GOOD, "with the same libseep.so (%s is here)",
            found.gl_pathv[0]);
    else
        add(info, "tracing", "programs of musl", FACT,
            "with the same libseep.so (no loader of musl is here)");
    if (state == 0)
        globfree(&found);
    add(info, "tracing", "static programs", FACT, "by probes only: seep attach");
}

static void add_limit(struct info *info, int resource, const char *name, bool bytes, const char *advice) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        add(info, "tracing", name, GOOD, "no limit");
    else if (bytes)
        advise(info, add(info, "tracing", name, BAD, "%s", seep_format_bytes(limit.rlim_cur).text), advice);
    else
        add(info, "tracing", name, FACT, "%s", seep_format_count(limit.rlim_cur).text);
}

static void add_tmpfs(struct info *info, const char *path) {
    struct statvfs space;
    if (statvfs(path, &space) != 0) {
        add(info, "tracing", path, FACT, "%s", strerror(errno));
        return;
    }
    add(info, "tracing", path, FACT, "%s free of %s",
        seep_format_bytes((uint64_t)space.f_bavail * space.f_frsize).text,
        seep_format_bytes((uint64_t)space.f_blocks * space.f_frsize).text);
}

static void add_ptrace(struct info *info) {
    long long scope;
    if (!read_number("/proc/sys/kernel/yama/ptrace_scope", &scope)) {
        add(info, "tracing", "ptrace scope", GOOD,
            "no Yama: processes of the same user may look at each other");
        return;
    }
    static const char *const meanings[] = {"processes of the same user may look at each other",
                                           "only children, or with CAP_SYS_PTRACE",
                                           "only with CAP_SYS_PTRACE", "no one may"};
    const char *meaning = scope >= 0 && scope < 4 ? meanings[scope] : "not known";
    bool free_for_all = scope == 0 || (scope < 3 && geteuid() == 0);
    struct item *item =
        add(info, "tracing", "ptrace scope", free_for_all ? GOOD : BAD, "%lld: %s", scope, meaning);
    if (!free_for_all && scope < 3)
        advise(info, item,
               "'seep run' needs no right; to look at a running PID be root, or: sysctl "
               "kernel.yama.ptrace_scope=0");
}

static void add_symbols(struct info *info) {
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (urls && *urls)
        add(info, "symbols", "DEBUGINFOD_URLS", GOOD, "%s", urls);
    else
        advise(info, add(info, "symbols", "DEBUGINFOD_URLS", FACT, "not set"),
               "set it, and debug information of the system's libraries is fetched when it is needed");
    const char *folder = seep_debug_dir_of_user();
    if (!folder)
        folder = "/usr/lib/debug";
    char by_id[PATH_MAX];
    bool has = snprintf(by_id, sizeof(by_id), "%s/.build-id", folder) < (int)sizeof(by_id) &&
               access(by_id, R_OK) == 0;
    add(info, "symbols", folder, FACT, "%s",
        has                         ? "has debug files by build-id"
        : access(folder, X_OK) != 0 ? strerror(errno)
                                    : "has no debug files by build-id");
}

static void add_rights(struct info *info) {
    for (int i = 0; i < SEEP_RIGHTS_NR; i++) {
        enum seep_right right = (enum seep_right)i;
        if (seep_right_is_held(right))
            add(info, "bpf", seep_right_name(right), GOOD, "yes");
        else
            advise(info, add(info, "bpf", seep_right_name(right), BAD, "not held"), seep_right_cost(right));
    }
    struct seep_kallsyms *symbols = NULL;
    struct seep_error *err = seep_kallsyms_read(&symbols);
    struct item *item = add(info, "bpf", "kernel addresses", err ? BAD : GOOD, err ? "hidden" : "yes");
    if (err)
        advise(info, item,
               "'seep kernel' needs them: have CAP_SYSLOG, and 0 or 1 in /proc/sys/kernel/kptr_restrict");
    seep_error_destroy(err);
    seep_kallsyms_destroy(symbols);
}

// Each is tried, in the kernel and with the rights that there are.
static void add_bpf(struct info *info) {
    struct seep_bpf_features features;
    if (!seep_bpf_is_built()) {
        advise(info, add(info, "bpf", "BPF programs", BAD, LEFT_OUT),
               "for 'seep attach' and 'seep kernel' build with libbpf, clang, llvm-strip and bpftool");
        return;
    }
    add_rights(info);
    if (seep_bpf_numbers_differ())
        advise(info,
               add(info, "bpf", "PID namespace", BAD,
                   "not the kernel's first, so 'seep attach' sees no process"),
               SEEP_BPF_NUMBERS_ADVICE);
    seep_bpf_features_probe(&features);
    for (int i = 0; i < SEEP_BPF_FEATURES_NR; i++) {
        const char *name = seep_bpf_feature_name((enum seep_bpf_feature)i);
        if (features.can[i]) {
            add(info, "bpf", name, GOOD, "yes");
            continue;
        }
        // Without the right to load programs nothing is known of the kernel.
        bool untried = !features.can[SEEP_BPF_CAN_LOAD] && i > SEEP_BPF_CAN_BTF && !features.lockdown;
        const char *why = features.lockdown        ? "the kernel is locked down (confidentiality)"
                          : i == SEEP_BPF_CAN_LOAD ? strerror(features.load_errno)
                          : untried                ? "could not be tried, for BPF programs cannot be loaded"
                                                   : "not in this kernel";
        struct item *item = add(info, "bpf", name, BAD, "%s", why);
        if (!untried)
            advise(info, item, seep_bpf_feature_cost((enum seep_bpf_feature)i));
    }
}

static void add_all(struct info *info) {
    add_build(info);
    add_machine(info);
    add_memory_file(info);
    add_programs(info);
    add_limit(info, RLIMIT_AS, "address space", true,
              "an image needs much address space: ulimit -v unlimited");
    add_limit(info, RLIMIT_FSIZE, "file size", true, "an image is a big sparse file: ulimit -f unlimited");
    add_limit(info, RLIMIT_NOFILE, "open files", false, NULL);
    add_tmpfs(info, "/dev/shm");
    add_tmpfs(info, "/tmp");
    add_ptrace(info);
    add_bpf(info);
    add_symbols(info);
}

// ---- showing ----

static void print_text(const struct info *info) {
    struct seep_style style = seep_style_of(stdout);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, stdout, &style);
    const char *section = "";
    for (size_t i = 0; i < info->nr_items; i++) {
        const struct item *item = &info->items[i];
        if (strcmp(section, item->section) != 0)
            fprintf(out, "%s%s%s%s\n", i ? "\n" : "", seep_style_bold(&style), item->section,
                    seep_style_off(&style));
        section = item->section;
        fprintf(out, "  %-19s  %s", item->name, item->verdict == BAD ? seep_style_warn(&style) : "");
        fputs(item->verdict == BAD ? "NO: " : "", out);
        seep_put_escaped(out, item->value);
        fprintf(out, "%s\n", seep_style_off(&style));
        if (item->what_to_do) {
            fprintf(out, "  %-19s  ", "");
            seep_put_escaped(out, item->what_to_do);
            fputc('\n', out);
        }
    }
    seep_wrap_done(&wrap);
}

static struct seep_error *print_json(const struct info *info) {
    static const char *const verdicts[] = {"fact", "good", "bad"};
    json_t *root = json_pack("{s:{s:s, s:i}}", "seep", "version", SEEP_VERSION, "schema", 1);
    bool failed = !root;
    for (size_t i = 0; !failed && i < info->nr_items; i++) {
        const struct item *item = &info->items[i];
        json_t *section = json_object_get(root, item->section);
        if (!section) {
            section = json_object();
            failed = json_object_set_new(root, item->section, section) != 0;
        }
        // Paths may hold any byte; JSON may not.
        char *value = seep_escape(item->value);
        char *what_to_do = item->what_to_do ? seep_escape(item->what_to_do) : NULL;
        failed = failed || !value ||
                 json_object_set_new(section, item->name,
                                     json_pack("{s:s, s:s, s:s?}", "value", value, "verdict",
                                               verdicts[item->verdict], "what_to_do", what_to_do)) != 0;
        free(value);
        free(what_to_do);
    }
    char *text = failed ? NULL : json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    json_decref(root);
    if (!text)
        return seep_error_no_memory();
    puts(text);
    free(text);
    return NULL;
}

static struct seep_error *run_info(const struct seep_arguments *arguments, int *ret_status) {
    const struct info_options *options = seep_arguments_values(arguments, &info_group);
    struct info info = {.nr_items = 0};
    add_all(&info);
    struct seep_error *error = NULL;
    if (info.out_of_memory)
        error = seep_error_no_memory();
    else if (options->json)
        error = print_json(&info);
    else
        print_text(&info);
    for (size_t i = 0; i < info.nr_items; i++) {
        free(info.items[i].value);
        free(info.items[i].what_to_do);
    }
    return error;
}

const struct seep_command seep_command_info = {
    .name = "info",
    .summary = "what this build, machine and kernel can do, and why not",
    .usage = "[--json]",
    .groups = (const struct seep_option_group *const[]){&info_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep info", "look here first when something does not work"},
            {"seep info --json", "the same for programs"},
            {NULL},
        },
    .run = run_info,
};
