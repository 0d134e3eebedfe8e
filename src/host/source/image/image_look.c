// SPDX-License-Identifier: BSD-2-Clause
// One image over many looks: its file, nodes and sites, and what a look reads. See image_look.h.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/image/image_look_parts.h"

#define PIECE 512u // elements that are read at once

static void note_file(struct seep_image_look *look) {
    struct stat status = {0};
    fstat(look->fd, &status);
    look->device = status.st_dev;
    look->inode = status.st_ino;
}

struct seep_error *seep_image_look_create(int fd, pid_t pid, struct seep_image_look **ret_look) {
    struct seep_image_look *look = calloc(1, sizeof(*look));
    if (!look) {
        close(fd);
        return seep_error_no_memory();
    }
    look->fd = fd;
    look->pid = pid;
    note_file(look);
    *ret_look = look;
    return NULL;
}

void seep_image_look_destroy(struct seep_image_look *look) {
    if (!look)
        return;
    for (size_t i = 0; i < look->nr_groups; i++) {
        free(look->groups[i].now);
        free(look->groups[i].differences);
        free(look->groups[i].changed);
    }
    free(look->groups);
    free(look->seen);
    free(look->cut);
    free(look->threads.items);
    free(look->threads_before.items);
    seep_profile_destroy(look->profile);
    seep_profile_destroy(look->profile_before);
    close(look->fd);
    free(look);
}

bool seep_image_look_is_of(const struct seep_image_look *look, int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_dev == look->device && status.st_ino == look->inode;
}

void seep_image_look_move(struct seep_image_look *look, int fd) {
    close(look->fd);
    look->fd = fd;
    note_file(look);
}

int seep_image_look_fd(const struct seep_image_look *look) {
    return look->fd;
}

struct seep_profile *seep_image_look_profile(const struct seep_image_look *look) {
    return look->profile;
}

const struct seep_profile *seep_image_look_profile_before(const struct seep_image_look *look) {
    return look->profile_before;
}

uint32_t seep_image_look_nr_nodes(const struct seep_image_look *look) {
    return look->nr_nodes;
}

uint32_t seep_image_look_nr_sites(const struct seep_image_look *look) {
    return look->nr_sites;
}

uint32_t seep_image_look_nr_sites_before(const struct seep_image_look *look) {
    return look->nr_sites_before;
}

const struct seep_image_head *seep_image_look_head(const struct seep_image_look *look) {
    return &look->head;
}

uint64_t seep_image_look_changed(const struct seep_image_look *look) {
    return look->changed;
}

uint64_t seep_image_look_before(const struct seep_image_look *look) {
    return look->before;
}

// ---- reading the file ----

// Where something has cut the file, the missing bytes are zero.
struct seep_error *seep_image_look_read(const struct seep_image_look *look, uint64_t off, void *ret_bytes,
                                        size_t nr) {
    unsigned char *bytes = ret_bytes;
    while (nr) {
        ssize_t got = pread(look->fd, bytes, nr, (off_t)off);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return seep_error_system(errno, "process %d: cannot read the image", (int)look->pid);
        if (got == 0) {
            memset(bytes, 0, nr);
            return NULL;
        }
        bytes += got;
        off += (uint64_t)got;
        nr -= (size_t)got;
    }
    return NULL;
}

// How many bytes at the beginning of an area's used part are data, without a hole.
static uint64_t dense_bytes(const struct seep_image_look *look, const struct seep_image_area *area) {
    uint64_t used = area->used * area->element_bytes;
    off_t hole = used ? lseek(look->fd, (off_t)area->off, SEEK_HOLE) : -1;
    if (hole < 0)
        return used && (errno == EINVAL || errno == EOPNOTSUPP) ? used : 0;
    return SEEP_MIN((uint64_t)hole - area->off, used);
}

// A piece of an array, as its elements are in the file.
static struct seep_error *read_elements(const struct seep_image_look *look, enum seep_area_kind kind,
                                        uint64_t first, uint32_t nr, unsigned char *ret_bytes) {
    const struct seep_image_area *area = &look->head.header.areas[kind];
    return seep_image_look_read(look, area->off + first * area->element_bytes, ret_bytes,
                                (size_t)nr * area->element_bytes);
}

struct seep_error *seep_image_look_nodes(const struct seep_image_look *look, uint32_t first, uint32_t nr,
                                         struct seep_node *ret_nodes) {
    size_t element = look->head.header.areas[SEEP_AREA_NODES].element_bytes;
    struct seep_image_reader reader = {.profile = look->profile};
    unsigned char *bytes = malloc(SEEP_MIN(nr, PIECE) * element + 1);
    struct seep_error *error = bytes ? NULL : seep_error_no_memory();
    for (uint32_t done = 0; !error && done < nr;) {
        uint32_t piece = SEEP_MIN(nr - done, PIECE);
        error = read_elements(look, SEEP_AREA_NODES, first + done, piece, bytes);
        for (uint32_t i = 0; !error && i < piece; i++, done++) {
            struct seep_image_node from;
            seep_image_element_decode(&look->head, SEEP_AREA_NODES, bytes + i * element, &from);
            ret_nodes[done] = first + done ? seep_image_node_from(&reader, first + done, &from)
                                           : (struct seep_node){.kind = SEEP_NODE_FRAME};
        }
    }
    free(bytes);
    return error;
}

struct seep_error *seep_image_look_sites(const struct seep_image_look *look, uint32_t first, uint32_t nr,
                                         struct seep_look_site *ret_sites) {
    size_t element = look->head.header.areas[SEEP_AREA_SITES].element_bytes;
    unsigned char *bytes = malloc(SEEP_MIN(nr, PIECE) * element + 1);
    struct seep_error *error = bytes ? NULL : seep_error_no_memory();
    for (uint32_t done = 0; !error && done < nr;) {
        uint32_t piece = SEEP_MIN(nr - done, PIECE);
        error = read_elements(look, SEEP_AREA_SITES, first + done, piece, bytes);
        for (uint32_t i = 0; !error && i < piece; i++, done++) {
            struct seep_image_site from;
            struct seep_look_site *site = &ret_sites[done];
            seep_image_element_decode(&look->head, SEEP_AREA_SITES, bytes + i * element, &from);
            bool good = from.node < look->nr_nodes && from.via < SEEP_VIA_NR;
            *site = (struct seep_look_site){good ? from.node : 0, good ? from.via : SEEP_VIA_NONE};
            if (first + done == 0)
                site->node = 0;
        }
    }
    free(bytes);
    return error;
}

// Reads the profile without totals. Sites that are made from now on belong to the next look.
static struct seep_error *read_small(struct seep_image_look *look, const struct seep_image_copy *copy,
                                     struct seep_image_reader *reader) {
    struct seep_error *error = seep_profile_create(&reader->profile);
    if (!error)
        error = seep_image_read_small(reader);
    if (error) {
        seep_profile_destroy(reader->profile);
        return error;
    }
    const struct seep_image_area *areas = copy->head.header.areas;
    uint32_t nr_nodes =
        seep_image_nr_elements(reader, SEEP_AREA_NODES, dense_bytes(look, &areas[SEEP_AREA_NODES]));
    uint32_t nr_sites =
        seep_image_nr_elements(reader, SEEP_AREA_SITES, dense_bytes(look, &areas[SEEP_AREA_SITES]));
    seep_profile_destroy(look->profile_before);
    look->profile_before = look->profile;
    look->profile = reader->profile;
    look->head = copy->head;
    // Their numbers never fall, even if something cuts the file.
    look->nr_nodes = SEEP_MAX(SEEP_MAX(nr_nodes, 1u), look->nr_nodes);
    look->nr_sites_before = look->nr_sites;
    look->nr_sites = SEEP_MAX(SEEP_MAX(nr_sites, 1u), look->nr_sites);
    look->profile->process.pid = (uint32_t)look->pid;
    return NULL;
}

// Counts the sites with a cut stack among the sites that are new.
static struct seep_error *count_cut(struct seep_image_look *look) {
    uint8_t *cut = realloc(look->cut, look->nr_nodes);
    if (!cut)
        return seep_error_no_memory();
    look->cut = cut;
    while (look->nr_cut_nodes < look->nr_nodes) {
        struct seep_node nodes[PIECE];
        uint32_t first = look->nr_cut_nodes, nr = SEEP_MIN(look->nr_nodes - first, PIECE);
        struct seep_error *error = seep_image_look_nodes(look, first, nr, nodes);
        if (error)
            return error;
        for (uint32_t i = 0; i < nr; i++)
            cut[first + i] = seep_image_cut_of(&nodes[i], first + i, cut);
        look->nr_cut_nodes += nr;
    }
    while (look->nr_cut_sites < look->nr_sites) {
        struct seep_look_site sites[PIECE];
        uint32_t nr = SEEP_MIN(look->nr_sites - look->nr_cut_sites, PIECE);
        struct seep_error *error = seep_image_look_sites(look, look->nr_cut_sites, nr, sites);
        if (error)
            return error;
        for (uint32_t i = 0; i < nr; i++)
            if (cut[sites[i].node])
                look->cut_sites[cut[sites[i].node] - 1]++;
        look->nr_cut_sites += nr;
    }
    memcpy(look->profile->health.cut, look->cut_sites, sizeof(look->cut_sites));
    return NULL;
}

struct seep_error *seep_image_look_take(struct seep_image_look *look, uint64_t epoch) {
    char name[64];
    snprintf(name, sizeof(name), "image of process %d", (int)look->pid);
    struct seep_image_copy *copy = NULL;
    struct seep_error *error = seep_image_copy_small_from_fd(look->fd, name, &copy);
    if (error)
        return error;
    struct seep_image_reader reader = {.copy = copy};
    error = read_small(look, copy, &reader);
    if (!error) {
        struct seep_totals *totals = &look->profile->totals;
        uint64_t inherited_blocks = totals->inherited_blocks, inherited_bytes = totals->inherited_bytes;
        seep_profile_derive(look->profile); // of no sites
        totals->inherited_blocks = inherited_blocks;
        totals->inherited_bytes = inherited_bytes;
        look->before = look->epoch;
        look->epoch = epoch;
        error = seep_look_take_counters(look, copy);
    }
    if (!error)
        error = count_cut(look);
    if (!error) {
        seep_profile_derive_health(look->profile);
        seep_image_set_totals(&reader);
        seep_image_narrow_peak(&reader);
        error = seep_image_add_notes(&reader);
    }
    seep_image_copy_destroy(copy);
    return error;
}

const struct seep_thread_figures *seep_image_look_threads(const struct seep_image_look *look, bool before,
                                                          size_t *ret_nr) {
    const struct seep_look_threads *threads = before ? &look->threads_before : &look->threads;
    *ret_nr = threads->nr;
    return threads->is_many ? NULL : threads->items;
}
