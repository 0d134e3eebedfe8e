// SPDX-License-Identifier: BSD-2-Clause
//
// Finds the files of a module: the one that was loaded, the one with its debug information, and what
// both refer to. Source of the places: GDB manual, "Debugging Information in Separate Files".
//
// Invariant: a file is used only if its build-id is the module's, or, where there is no build-id, if
// its checksum is the one that the loaded file's .gnu_debuglink asks for.
#ifndef SEEP_NAMES_MODULE_FILE_H
#define SEEP_NAMES_MODULE_FILE_H

#include "names/debug_server.h"
#include "names/symbol_file.h"

// Who opens files for a reader that cannot. Both return a descriptor, or -1.
struct seep_file_giver {
    void *context;
    // *ret_trouble: why not; lives long. *ret_directory: where it lies, malloc'ed; NULL: not known.
    int (*open)(void *context, bool in_sysroot, const char *path, const char **ret_trouble,
                char **ret_directory);
    int (*ask_server)(void *context, const uint8_t *build_id, size_t build_id_bytes);
};

// What the kernel puts behind the path of a file that has no name any more.
#define SEEP_DELETED_SUFFIX " (deleted)"

struct seep_file_search {
    char *sysroot;                       // NULL: "/"
    int sysroot_fd;                      // -1: "/"
    char *debug_dir;                     // on this machine; NULL: /usr/lib/debug under sysroot
    uint64_t copied_bytes;               // see seep_symbol_file_open
    bool hasty;                          // files are mapped, none is copied
    bool plain_runtime;                  // see struct seep_symbols_options
    const struct seep_file_giver *giver; // NULL: files are opened here, but for untrusted ones:
    bool met_untrusted;                  // one was left out
    struct seep_debug_server server;
};

// `giver`: then no path is looked at.
SEEP_MUST_CHECK struct seep_error *seep_file_search_init(struct seep_file_search *search, const char *sysroot,
                                                         const char *debug_dir,
                                                         const struct seep_file_giver *giver);
void seep_file_search_deinit(struct seep_file_search *search);

// Opens a regular file for reading. -1: *ret_trouble (static text) says why not.
int seep_file_search_open(const struct seep_file_search *search, bool in_sysroot, const char *path,
                          const char **ret_trouble);
// Whether others than root and we chose what is in it: by its owner, and in the root of another system.
bool seep_file_search_is_untrusted(const struct seep_file_search *search, bool in_sysroot, int fd);
// Whether the module has a file that everybody may read, or that is another user's.
bool seep_module_file_is_public(const struct seep_file_search *search, const char *path);
// SEEP_DEBUG_DIR of the environment, where it is an absolute path; NULL: it is not.
const char *seep_debug_dir_of_user(void);

// The folder of separate debug information that was given or is the default. Lives as long as the search.
const char *seep_file_search_debug_dir(const struct seep_file_search *search);

struct seep_module_files {
    struct seep_symbol_file *main;  // the loaded file itself; NULL: see trouble
    struct seep_symbol_file *debug; // separate debug information, or at least a full symbol table; NULL: none
    struct seep_symbol_file *mini;  // symbols of functions that main does not export (.gnu_debugdata)
    const char *trouble;            // static text: why there is no main file
};

// Never fails for want of files. `id` is that of the module in the traced process.
SEEP_MUST_CHECK struct seep_error *seep_module_files_find(struct seep_file_search *search, const char *path,
                                                          struct seep_build_id id,
                                                          struct seep_module_files *ret_files);
void seep_module_files_close(struct seep_module_files *files);

// The file that `name` in .gnu_debugaltlink of `from` means (dwz makes them); NULL: not found.
SEEP_MUST_CHECK struct seep_error *seep_alt_file_find(struct seep_file_search *search,
                                                      const struct seep_symbol_file *from, const char *name,
                                                      struct seep_build_id id,
                                                      struct seep_symbol_file **ret_file);

#endif
