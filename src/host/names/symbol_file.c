// SPDX-License-Identifier: BSD-2-Clause
// One ELF file, see symbol_file.h.
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <lzma.h>

#include "names/symbol_file.h"

#define COPY_FILE_BYTES     ((uint64_t)1 << 20) // larger files are mapped: a report reads few of their pages
#define COPY_ALL_BYTES      ((uint64_t)256 << 20) // once this much was copied, all files are mapped
#define MINI_BYTES          ((size_t)64 << 20)    // .gnu_debugdata that unpacks to more is not used
#define UNPACK_MEMORY_BYTES ((uint64_t)128 << 20)

// Files beyond these are left out, and named. Debug information of the largest browsers is 6 GB.
#define FILE_BYTES_MAX   (UINT64_C(32) << 30)
#define SPARSE_BYTES     (UINT64_C(64) << 20) // above this a file must have more than holes:
#define SPARSE_RATIO     64u
#define UNPACKED_BYTES   (UINT64_C(256) << 20) // compressed sections: this much, or
#define UNPACKED_RATIO   32u                   // so many times the file, up to
#define UNPACKED_ALL_MAX (UINT64_C(16) << 30)

// ---- files that are cut under our hands ----

// A large file is mapped. Where its owner cuts it, its pages give SIGBUS: then zeros are put there, as behind
// the end of every image, and what is damaged by that is looked at as all damaged files are.
static struct seep_symbol_file *_Atomic mapped_files;
static pthread_mutex_t mapped_lock = PTHREAD_MUTEX_INITIALIZER; // held by who changes the list
static struct sigaction bus_before;

static void handle_bus(int number, siginfo_t *info, void *context) {
    (void)context;
    int kept_errno = errno;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)info->si_addr & ~(page - 1);
    for (const struct seep_symbol_file *file = mapped_files; file; file = file->next_mapped)
        if (at - (uintptr_t)file->image < file->image_bytes &&
            mmap((void *)at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
                MAP_FAILED) {
            errno = kept_errno;
            return;
        }
    sigaction(number, &bus_before, NULL); // somebody else's: it comes again
    errno = kept_errno;
}

static void watch_mapped(struct seep_symbol_file *file) {
    struct sigaction action = {.sa_sigaction = handle_bus, .sa_flags = SA_SIGINFO | SA_NODEFER};
    pthread_mutex_lock(&mapped_lock);
    if (!mapped_files)
        sigaction(SIGBUS, &action, &bus_before);
    file->next_mapped = mapped_files;
    mapped_files = file;
    pthread_mutex_unlock(&mapped_lock);
}

static void unwatch_mapped(const struct seep_symbol_file *file) {
    pthread_mutex_lock(&mapped_lock);
    struct seep_symbol_file *before = mapped_files;
    while (before && before != file && before->next_mapped != file)
        before = before->next_mapped;
    if (before == file)
        mapped_files = file->next_mapped;
    else if (before)
        before->next_mapped = file->next_mapped;
    if (!mapped_files)
        sigaction(SIGBUS, &bus_before, NULL);
    pthread_mutex_unlock(&mapped_lock);
}

// Bytes to map for a file: at least a page of zeros behind it.
static size_t room_for(size_t file_bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (file_bytes + 2 * page - 1) / page * page;
}

static void *map_zeros(size_t nr_bytes) {
    void *memory =
        mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, nr_bytes, MADV_HUGEPAGE); // all of it is written: fewer page faults
    return memory;
}

// Reads until the end of the file, as far as it is there. false: errno says why not.
static bool read_all(int fd, char *to, size_t nr_bytes) {
    size_t done = 0;
    while (done < nr_bytes) {
        ssize_t got = pread(fd, to + done, nr_bytes - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return true;
}

// What compressed sections stand for is said in the file, and is memory of ours when debug information is
// read. Source: System V ABI, "Compressed Sections"; of .zdebug_* the GNU linker: "ZLIB", 8 bytes big-endian.
static bool unpacks_to_much(Elf *elf, size_t file_bytes) {
    uint64_t most =
        SEEP_MIN(SEEP_MAX(UNPACKED_BYTES, (uint64_t)file_bytes * UNPACKED_RATIO), UNPACKED_ALL_MAX);
    uint64_t sum = 0;
    size_t names_index;
    if (elf_getshdrstrndx(elf, &names_index) < 0)
        return false;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section && sum <= most;
         section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        GElf_Chdr packed;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(elf, names_index, header.sh_name);
        uint64_t bytes = 0;
        if (header.sh_flags & SHF_COMPRESSED) {
            bytes = gelf_getchdr(section, &packed) ? packed.ch_size : 0;
        } else if (name && strncmp(name, ".zdebug", 7) == 0) {
            const Elf_Data *data = elf_rawdata(section, NULL);
            if (data && data->d_buf && data->d_size >= 12)
                memcpy(&bytes, (const char *)data->d_buf + 4, sizeof(bytes));
            bytes = be64toh(bytes);
        }
        sum = bytes > most ? most + 1 : sum + bytes;
    }
    return sum > most;
}

static struct seep_error *wrap(void *image, size_t image_bytes, size_t file_bytes, bool mapped,
                               struct seep_symbol_file **ret_file) {
    struct seep_symbol_file *file = calloc(1, sizeof(*file));
    if (!file) {
        munmap(image, image_bytes);
        return seep_error_no_memory();
    }
    *file = (struct seep_symbol_file){
        .image = image, .image_bytes = image_bytes, .file_bytes = file_bytes, .is_mapped = mapped};
    if (mapped)
        watch_mapped(file);
    elf_version(EV_CURRENT);
    file->elf = elf_memory(image, file_bytes);
    GElf_Ehdr header;
    bool usable = file->elf && elf_kind(file->elf) == ELF_K_ELF && gelf_getehdr(file->elf, &header) &&
                  (header.e_type == ET_EXEC || header.e_type == ET_DYN);
    if (!usable) {
        seep_symbol_file_close(file);
        file = NULL;
    }
    *ret_file = file;
    return NULL;
}

char *seep_directory_of(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length <= 0 || path[0] != '/')
        return NULL;
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return strdup(path);
}

struct seep_error *seep_symbol_file_open(int fd, uint64_t *copied_bytes, struct seep_symbol_file **ret_file,
                                         const char **ret_trouble) {
    struct stat status;
    if (fstat(fd, &status) < 0 || status.st_size <= 0 || (uint64_t)status.st_size > SIZE_MAX / 4) {
        *ret_file = NULL;
        *ret_trouble = "file is empty or not to be read";
        return NULL;
    }
    // Of holes a file may have as many as it likes, and reading them takes time, and on tmpfs memory.
    uint64_t all = (uint64_t)status.st_size, stored = (uint64_t)status.st_blocks * 512;
    if (all > FILE_BYTES_MAX || (all > SPARSE_BYTES && stored < all / SPARSE_RATIO)) {
        *ret_file = NULL;
        *ret_trouble = all > FILE_BYTES_MAX ? "file is too large" : "file has nearly nothing but holes";
        return NULL;
    }
    size_t file_bytes = (size_t)status.st_size, image_bytes = room_for(file_bytes);
    void *image = map_zeros(image_bytes);
    if (!image) {
        *ret_file = NULL;
        *ret_trouble = "file is too large for our memory";
        return NULL;
    }
    bool copy = file_bytes <= COPY_FILE_BYTES && *copied_bytes + file_bytes <= COPY_ALL_BYTES;
    bool got =
        copy ? read_all(fd, image, file_bytes)
             : mmap(image, file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED;
    if (!got) {
        munmap(image, image_bytes);
        *ret_file = NULL;
        *ret_trouble = "file cannot be read";
        return NULL;
    }
    struct seep_symbol_file *file;
    struct seep_error *error = wrap(image, image_bytes, file_bytes, !copy, &file);
    if (error)
        return error;
    if (file && unpacks_to_much(file->elf, file_bytes)) {
        seep_symbol_file_close(file);
        *ret_file = NULL;
        *ret_trouble = "its compressed sections stand for too much";
        return NULL;
    }
    if (file) {
        file->directory = seep_directory_of(fd);
        *copied_bytes += copy ? file_bytes : 0;
    } else {
        *ret_trouble = "not an ELF program or library";
    }
    *ret_file = file;
    return NULL;
}

void seep_symbol_file_close(struct seep_symbol_file *file) {
    if (!file)
        return;
    elf_end(file->elf);
    if (file->is_mapped)
        unwatch_mapped(file);
    munmap(file->image, file->image_bytes);
    free(file->directory);
    free(file);
}

struct seep_build_id seep_symbol_file_build_id(const struct seep_symbol_file *file) {
    const void *bytes;
    ssize_t nr_bytes = dwelf_elf_gnu_build_id(file->elf, &bytes);
    return nr_bytes > 0 ? (struct seep_build_id){bytes, (size_t)nr_bytes} : (struct seep_build_id){NULL, 0};
}

uint32_t seep_symbol_file_crc(const struct seep_symbol_file *file) {
    return lzma_crc32(file->image, file->file_bytes, 0); // the same CRC-32
}

// A section that has contents; NULL: none. `name` or `type` may be left out (NULL, SHT_NULL).
static Elf_Scn *find_section(const struct seep_symbol_file *file, const char *name, GElf_Word type) {
    size_t names_index;
    if (elf_getshdrstrndx(file->elf, &names_index) < 0)
        return NULL;
    for (Elf_Scn *section = elf_nextscn(file->elf, NULL); section;
         section = elf_nextscn(file->elf, section)) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS || !header.sh_size)
            continue;
        if (type != SHT_NULL && header.sh_type != type)
            continue;
        const char *its_name = name ? elf_strptr(file->elf, names_index, header.sh_name) : NULL;
        if (!name || (its_name && !strcmp(its_name, name)))
            return section;
    }
    return NULL;
}

bool seep_symbol_file_has_debug_info(const struct seep_symbol_file *file) {
    return find_section(file, ".debug_info", SHT_NULL) || find_section(file, ".zdebug_info", SHT_NULL);
}

bool seep_symbol_file_has_symbols(const struct seep_symbol_file *file) {
    return find_section(file, NULL, SHT_SYMTAB) != NULL;
}

// Names of classes of the runtime, with the zeros around: as a part, symbols of any C++ file have them.
bool seep_symbol_file_has_cxx_runtime(const struct seep_symbol_file *file) {
    static const char allocation[] = "\0St9bad_alloc", class[] = "\0N10__cxxabiv117__class_type_infoE",
                      exception[] = "\0St9exception";
    return memmem(file->image, file->file_bytes, allocation, sizeof(allocation)) ||
           memmem(file->image, file->file_bytes, class, sizeof(class)) ||
           memmem(file->image, file->file_bytes, exception, sizeof(exception));
}

// Source: System V ABI, "Section Header", SHT_SYMTAB.
bool seep_symbol_walk_init(struct seep_symbol_walk *walk, const struct seep_symbol_file *file,
                           uint32_t type) {
    Elf_Scn *section = find_section(file, NULL, type);
    GElf_Shdr header;
    if (!section || !gelf_getshdr(section, &header))
        return false;
    Elf_Data *data = elf_getdata(section, NULL);
    size_t entry_bytes = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
    size_t nr = data && entry_bytes ? data->d_size / entry_bytes : 0;
    *walk = (struct seep_symbol_walk){.elf = file->elf,
                                      .data = data,
                                      .strings_index = header.sh_link,
                                      .nr = SEEP_MIN(nr, (size_t)INT32_MAX),
                                      .next = 1};
    return true;
}

bool seep_symbol_walk_next(struct seep_symbol_walk *walk, GElf_Sym *ret_symbol) {
    return walk->next < walk->nr && gelf_getsym(walk->data, (int)walk->next++, ret_symbol);
}

const char *seep_symbol_walk_name(const struct seep_symbol_walk *walk, const GElf_Sym *symbol) {
    return elf_strptr(walk->elf, walk->strings_index, symbol->st_name);
}

// Doubles the memory that is unpacked into, with a page of zeros behind it at all times.
static bool make_room(void **image, size_t *image_bytes) {
    void *larger = mremap(*image, *image_bytes, *image_bytes * 2, MREMAP_MAYMOVE);
    if (larger == MAP_FAILED)
        return false;
    *image = larger;
    *image_bytes *= 2;
    return true;
}

// Source: the .xz file format; section .gnu_debugdata: GDB manual, "MiniDebugInfo".
static bool unpack(const Elf_Data *packed, void **image, size_t *image_bytes, size_t *ret_bytes) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, UNPACK_MEMORY_BYTES, 0) != LZMA_OK)
        return false;
    size_t used = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    stream.next_in = packed->d_buf;
    stream.avail_in = packed->d_size;
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK) {
        if (used == *image_bytes - page && (used > MINI_BYTES || !make_room(image, image_bytes)))
            break;
        stream.next_out = (uint8_t *)*image + used;
        stream.avail_out = *image_bytes - page - used;
        result = lzma_code(&stream, LZMA_FINISH);
        used = *image_bytes - page - stream.avail_out;
    }
    lzma_end(&stream);
    *ret_bytes = used;
    return result == LZMA_STREAM_END;
}

struct seep_error *seep_symbol_file_open_mini(const struct seep_symbol_file *file,
                                              struct seep_symbol_file **ret_mini) {
    Elf_Scn *section = find_section(file, ".gnu_debugdata", SHT_NULL);
    const Elf_Data *packed = section ? elf_rawdata(section, NULL) : NULL;
    if (!packed || !packed->d_buf) {
        *ret_mini = NULL;
        return NULL;
    }
    size_t image_bytes = room_for((size_t)256 << 10), file_bytes;
    void *image = map_zeros(image_bytes);
    if (!image)
        return seep_error_no_memory();
    if (!unpack(packed, &image, &image_bytes, &file_bytes)) {
        munmap(image, image_bytes);
        *ret_mini = NULL;
        return NULL;
    }
    return wrap(image, image_bytes, file_bytes, false, ret_mini);
}

const unsigned char *seep_symbol_file_bytes(const struct seep_symbol_file *file, uint64_t address,
                                            size_t *ret_nr) {
    size_t nr_headers;
    if (elf_getphdrnum(file->elf, &nr_headers) != 0)
        return NULL;
    for (size_t i = 0; i < nr_headers && i <= INT32_MAX; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD ||
            address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
            continue;
        uint64_t start, within = address - header.p_vaddr;
        if (__builtin_add_overflow(header.p_offset, within, &start) || start >= file->file_bytes)
            return NULL;
        *ret_nr = (size_t)SEEP_MIN(header.p_filesz - within, file->file_bytes - start);
        return (const unsigned char *)file->image + start;
    }
    return NULL;
}
