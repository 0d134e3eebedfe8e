// SPDX-License-Identifier: BSD-2-Clause
// Tables of virtual functions, see vtable.h.
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/opener.h"
#include "scan/core_file.h"
#include "scan/vtable.h"

enum { SEGMENTS_MOST = 64 };

// What the file at `file` has `off` bytes behind the start of the mapping. Its path is the core's word: it
// may be anything.
static bool read_file(const struct seep_core_mapping *file, uint64_t file_off, void *ret_bytes,
                      size_t nr_bytes) {
    int fd = seep_open_regular(-1, file->path);
    bool done = fd >= 0 && file_off <= INT64_MAX &&
                pread(fd, ret_bytes, nr_bytes, (off_t)file_off) == (ssize_t)nr_bytes;
    if (fd >= 0)
        close(fd);
    return done;
}

static uint64_t file_off_of(const struct seep_core_mapping *file, uint64_t address) {
    return file->file_off + (address - file->start);
}

// PF_* of what is mapped there, which notes of a core do not say; 0: not known.
static uint32_t rights_by_file(const struct seep_core *core, uint64_t address) {
    const struct seep_core_mapping *file = core ? seep_core_file_at(core, address) : NULL;
    Elf64_Ehdr head;
    Elf64_Phdr segments[SEGMENTS_MOST];
    if (!file || !read_file(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phentsize != sizeof(*segments) || head.e_phnum > SEGMENTS_MOST ||
        !read_file(file, head.e_phoff, segments, head.e_phnum * sizeof(*segments)))
        return 0;
    uint64_t at = file_off_of(file, address);
    for (size_t i = 0; i < head.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && at >= segments[i].p_offset &&
            at - segments[i].p_offset < segments[i].p_filesz)
            return segments[i].p_flags;
    return 0;
}

static bool read_word(const struct seep_memory *memory, uint64_t address, uint64_t *ret_word) {
    if (seep_memory_read_words(memory, address, ret_word, 1))
        return true;
    const struct seep_core_mapping *file = memory->core ? seep_core_file_at(memory->core, address) : NULL;
    return file && read_file(file, file_off_of(file, address), ret_word, sizeof(*ret_word));
}

bool seep_vtable_may_be(const struct seep_memory *memory, uint64_t word) {
    const struct seep_memory_area *mapping =
        word % memory->word_bytes ? NULL : seep_memory_find(memory, word);
    if (mapping)
        return mapping->path[0] == '/' && !mapping->writable && !mapping->executable &&
               (mapping->readable || memory->core);
    return word % memory->word_bytes == 0 && memory->core && seep_core_file_at(memory->core, word);
}

bool seep_vtable_is(const struct seep_memory *memory, uint64_t word) {
    uint64_t function;
    if (!seep_memory_find(memory, word) &&
        (rights_by_file(memory->core, word) & (PF_R | PF_W | PF_X)) != PF_R)
        return false;
    if (!read_word(memory, word, &function))
        return false;
    const struct seep_memory_area *code = seep_memory_find(memory, function);
    return code ? code->executable : rights_by_file(memory->core, function) & PF_X;
}
