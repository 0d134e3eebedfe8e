// SPDX-License-Identifier: BSD-2-Clause
// Functions that allocate for their callers, see library_code.h.
#include <ctype.h>
#include <string.h>

#include "base/file_name.h"
#include "core/attr.h"
#include "names/library_code.h"

static const char anonymous[] = "(anonymous namespace)";

// A demangled template function begins with its return type: "void std::vector<int>::f()". The
// function's own name is the last word before its parameters; blanks inside <> do not end a word.
static const char *own_name(const char *function) {
    const char *word = function;
    int nesting = 0;
    for (const char *at = function; *at; at++) {
        if (strncmp(at, anonymous, sizeof(anonymous) - 1) == 0) {
            at += sizeof(anonymous) - 2;
            continue;
        }
        if (*at == '(' && nesting == 0)
            break;
        nesting += *at == '<' ? 1 : *at == '>' ? -1 : 0;
        if (*at == ' ' && nesting == 0)
            word = at + 1;
    }
    return word;
}

static bool begins_with_one(const char *text, const char *const *starts, size_t nr) {
    for (size_t i = 0; i < nr; i++)
        if (strncmp(text, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool is_one(const char *text, const char *const *words, size_t nr) {
    for (size_t i = 0; i < nr; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

// ---- modules ----

// Libraries in which a leak is not looked for: they allocate for their callers. Whole names up to a
// version or the end: "libc" is "libc.so.6" and "libc-2.36.so" but not "libcurl.so".
bool seep_module_is_runtime(const char *path) {
    static const char *const names[] = {
        "libc",        "ld-linux-x86-64", "ld-linux-aarch64",
        "ld-linux",    "ld-musl-x86_64",  "ld-musl-aarch64",
        "ld64",        "libstdc++",       "libc++",
        "libc++abi",   "libgcc_s",        "libpthread",
        "libdl",       "libseep",         "libjemalloc",
        "libmimalloc", "libtcmalloc",     "libtcmalloc_minimal",
    };
    const char *name = seep_file_name(path);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++) {
        size_t nr = strlen(names[i]);
        if (strncmp(name, names[i], nr) == 0 &&
            (strncmp(name + nr, ".so", 3) == 0 ||
             (name[nr] == '-' && name[nr + 1] >= '0' && name[nr + 1] <= '9')))
            return true;
    }
    return strcmp(name, "[vdso]") == 0;
}

bool seep_module_is_tracer(const char *path) {
    const char *name = seep_file_name(path);
    return strcmp(name, "libseep.so") == 0 || strcmp(name, "libseep-record.so") == 0;
}

// ---- standard libraries ----

// Rust's functions are spread over crates, and the name of one crate may be another crate's too.
static bool is_std_name(const char *function) {
    static const char *const spaces[] = {
        "std::",         "__gnu_cxx::",      "__cxxabiv1::",   "alloc::alloc::", "alloc::raw_vec::",
        "alloc::vec::",  "alloc::string::",  "alloc::boxed::", "alloc::sync::",  "alloc::collections::",
        "alloc::rc::",   "alloc::slice::",   "alloc::str::",   "alloc::fmt::",   "alloc::borrow::",
        "alloc::ffi::",  "hashbrown::raw::", "__rust_alloc",   "__rust_realloc", "__rdl_alloc",
        "__rdl_realloc", "__rg_alloc",       "__rg_realloc",   "<alloc::",       "core::iter::",
        "core::ptr::",   "core::alloc::",    "__rustc::__",
    };
    return begins_with_one(own_name(function), spaces, SEEP_ARRAY_SIZE(spaces)) ||
           strncmp(function, "operator new", 12) == 0 || strncmp(function, "<alloc::", 8) == 0;
}

bool seep_function_is_std(const char *function, const char *file) {
    if (file && (strstr(file, "/include/c++/") || strstr(file, "/c++/v1/") ||
                 (strstr(file, "/rustc/") && strstr(file, "/library/"))))
        return true;
    return function && is_std_name(function);
}

// ---- wrappers ----

#define WORD_MAX 48u

// The last part of the name, in small letters: of "ns::Pool<int>::safe_malloc(unsigned long)" "safe_malloc".
// false: it is too long for a wrapper, or an operator.
static bool read_word(const char *function, char ret_word[WORD_MAX]) {
    const char *word = own_name(function);
    if (strncmp(word, anonymous, sizeof(anonymous) - 1) == 0)
        word += sizeof(anonymous) - 1;
    const char *end = word;
    int nesting = 0;
    for (; *end && (nesting || (*end != '(' && *end != ' ')); end++) {
        nesting += *end == '<' ? 1 : *end == '>' ? -1 : 0;
        if (!nesting && end[0] == ':' && end[1] == ':')
            word = end + 2;
        if (strncmp(end, "::(anonymous namespace)", 23) == 0)
            end += 22;
    }
    size_t nr = 0;
    while (word < end && *word == '_')
        word++;
    for (; word < end && nr + 1 < WORD_MAX && (isalnum((unsigned char)*word) || *word == '_'); word++)
        ret_word[nr++] = (char)tolower((unsigned char)*word);
    ret_word[nr] = '\0';
    return nr && (word == end || *word == '<');
}

// Functions of a program's own test or example: the user looks for them.
static bool is_of_test(const char *prefix, size_t length) {
    static const char *const words[] = {"test", "leak", "lose", "lost",   "bench",  "demo", "call",
                                        "main", "bad",  "fuzz", "stress", "sample", "run",  "use",
                                        "many", "once", "loop", "first",  "second", "wrong"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(words); i++) {
        const char *found = strstr(prefix, words[i]);
        if (found && (size_t)(found - prefix) < length)
            return true;
    }
    return false;
}

static const char *last_of(const char *word, const char *part) {
    const char *last = NULL;
    for (const char *at = word; (at = strstr(at, part)) != NULL; at++)
        last = at;
    return last;
}

// A verb of the C library with the name of a program or a library in front of it, and of its variant behind.
static bool has_verb(const char *word) {
    static const char *const verbs[] = {"malloc",  "calloc", "zalloc",   "realloc",      "strdup",
                                        "strndup", "memdup", "memalign", "reallocarray", "asprintf"};
    static const char *const tails[] = {
        "",         "0",       "2",           "n",       "_n",       "0_n",    "z",
        "_z",       "x",       "_x",          "_",       "array",    "_rt",    "_array",
        "zero",     "_zero",   "raw",         "rawnn",   "z_array",  "or_die", "_or_die",
        "safe",     "_safe",   "_fatal",      "_nofail", "_usable",  "_impl",  "_internal",
        "_aligned", "_atomic", "_array_zero", "_printf", "_vprintf", "_s",     "size"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(verbs); i++) {
        const char *verb = last_of(word, verbs[i]);
        size_t before = verb ? (size_t)(verb - word) : 0;
        if (verb && before <= 16 && !is_of_test(word, before) &&
            is_one(verb + strlen(verbs[i]), tails, SEEP_ARRAY_SIZE(tails)))
            return true;
    }
    return false;
}

// Many programs call functions of their own "alloc": it is a wrapper only behind these names.
static bool is_plain_alloc(const char *word) {
    static const char *const prefixes[] = {"",
                                           "x",
                                           "e",
                                           "s",
                                           "p",
                                           "t",
                                           "my_",
                                           "safe_",
                                           "mem_",
                                           "memory_",
                                           "mem",
                                           "heap",
                                           "heap_",
                                           "sys_",
                                           "raw_",
                                           "ck_",
                                           "gc_",
                                           "ggc_",
                                           "ggc_internal_",
                                           "ggc_internal_cleared_",
                                           "bfd_",
                                           "ngx_",
                                           "ngx_p",
                                           "ngx_pn",
                                           "apr_p",
                                           "g_slice_",
                                           "obj_",
                                           "objalloc_",
                                           "pymalloc_",
                                           "kr",
                                           "k",
                                           "xx",
                                           "do_",
                                           "util_",
                                           "lib_",
                                           "av_",
                                           "pcre_",
                                           "sk_",
                                           "u",
                                           "av_buffer_",
                                           "re",
                                           "rep",
                                           "rust_",
                                           "l_"};
    static const char *const tails[] = {"",    "0",     "_n",   "z",       "x",
                                        "ate", "_zero", "_mem", "_memory", "_or_die"};
    const char *verb = last_of(word, "alloc");
    if (!verb || !is_one(verb + 5, tails, SEEP_ARRAY_SIZE(tails)))
        return false;
    char prefix[WORD_MAX];
    size_t length = (size_t)(verb - word);
    memcpy(prefix, word, length);
    prefix[length] = '\0';
    // "jv_mem_alloc": "mem_" behind the name of a library.
    bool mem =
        length > 5 && length <= 16 && strcmp(prefix + length - 5, "_mem_") == 0 && !is_of_test(word, length);
    return mem || is_one(prefix, prefixes, SEEP_ARRAY_SIZE(prefixes));
}

bool seep_function_is_wrapper(const char *function) {
    // In small letters.
    static const char *const whole[] = {
        "memorycontextalloc",
        "memorycontextalloczero",
        "memorycontextallocextended",
        "memorycontextstrdup",
        "g_slice_copy",
        "g_strconcat",
        "psprintf",
        "pvsnprintf",
        "pyobject_malloc",
        "pyobject_gc_new",
        "pyobject_gc_newvar",
        "pyobject_new",
        "pyobject_newvar",
        "pytype_genericalloc",
        "pytype_allocnotrack",
        "pyobject_gc_alloc",
        "acquiremagickmemory",
        "acquirequantummemory",
        "resizemagickmemory",
        "resizequantummemory",
        "acquirevirtualmemory",
        "getmemory",
        "sk_new_memory",
        "obstack_newchunk",
        "sdsnewlen",
        "luam_malloc_",
        "luam_realloc_",
        "luam_growaux_",
        "talloc_named_const",
        "talloc_size",
        "talloc_zero_size",
        "talloc_array_size",
        "allocate_buffer",
        "xmlstrdup",
        "xmlstrndup",
        "secure_getmem",
        "grow_pod", // of llvm::SmallVectorBase
        "mallocforgrow",
        "allocateheap",   // of HotSpot
        "allocwithretry", // of V8
        "alignedallocwithretry",
        "asmcgocall", // of Go's runtime, which changes the stack there
        "asmcgocall_no_g",
        "bn_expand2", // of OpenSSL
        "jli_memalloc",
    };
    char word[WORD_MAX];
    if (!function || !read_word(function, word))
        return false;
    return is_one(word, whole, SEEP_ARRAY_SIZE(whole)) || has_verb(word) || is_plain_alloc(word) ||
           (strncmp(word, "cgo_", 4) == 0 && strstr(word, "cmalloc"));
}

// A template or an inline function of an installed library, as those of Boost: compiled into the program, and
// none of its own lines. Sources below /usr/src are what the program itself was built from.
static bool is_installed_header(const char *file) {
    return file && strncmp(file, "/usr/", 5) == 0 && strstr(file, "/include/") && !strstr(file, "/src/");
}

bool seep_function_is_passed(const char *function, const char *file) {
    return seep_function_is_std(function, file) || is_installed_header(file) ||
           seep_function_is_wrapper(function);
}

enum seep_blame seep_blame_of(const char *function, const char *file, unsigned line, bool runtime) {
    bool has_line = file && line;
    if (runtime)
        return has_line ? SEEP_BLAME_RUNTIME_LINE : SEEP_BLAME_RUNTIME;
    if (seep_function_is_passed(function, file))
        return has_line ? SEEP_BLAME_PASSED_LINE : SEEP_BLAME_PASSED;
    return has_line ? SEEP_BLAME_LINE : SEEP_BLAME_OWN;
}

// Source: include/linux/slab.h, gfp.h, vmalloc.h, percpu.h and mm/ of Linux 6.12.
enum seep_blame seep_blame_of_kernel(const char *function) {
    static const char *const starts[] = {"kmalloc",
                                         "kzalloc",
                                         "kcalloc",
                                         "kvmalloc",
                                         "kvzalloc",
                                         "krealloc",
                                         "kvrealloc",
                                         "kmemdup",
                                         "kstrdup",
                                         "kmem_cache_a",
                                         "slab_alloc",
                                         "new_slab",
                                         "allocate_slab",
                                         "alloc_pages",
                                         "alloc_frozen_pages",
                                         "alloc_page",
                                         "folio_alloc",
                                         "vma_alloc_folio",
                                         "get_free_page",
                                         "get_zeroed_page",
                                         "vmalloc",
                                         "vzalloc",
                                         "pcpu_alloc",
                                         "alloc_percpu",
                                         "filemap_get_folio",
                                         "filemap_alloc_folio",
                                         "do_kmalloc",
                                         "do_kmem",
                                         "memdup_user",
                                         "get_page_from",
                                         "alloc_slab",
                                         "get_vm_area",
                                         "alloc_vmap_area",
                                         "folio_prealloc",
                                         "alloc_contig"};
    const char *name = function;
    while (name && *name == '_')
        name++;
    return !name || begins_with_one(name, starts, SEEP_ARRAY_SIZE(starts)) ? SEEP_BLAME_PASSED
                                                                           : SEEP_BLAME_OWN;
}
