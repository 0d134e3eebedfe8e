// SPDX-License-Identifier: BSD-2-Clause
// What was in memory of the blocks of a recording, see event_residence.h.
#include "file/event_file.h"
#include "file/event_residence.h"

void seep_residence_put(struct seep_put *put, const struct seep_residence_head *head,
                        const struct seep_resident_block *blocks) {
    uint64_t address = 0, stamp = 0;
    seep_put_leb(put, head->pid);
    seep_put_zigzag(put, head->start_realtime_ns);
    seep_put_leb(put, head->cpu_ns);
    seep_put_leb(put, head->nr_blocks);
    for (uint64_t i = 0; i < head->nr_blocks; i++) {
        seep_put_zigzag(put, (int64_t)(blocks[i].address - address));
        seep_put_zigzag(put, (int64_t)(blocks[i].stamp - stamp));
        seep_put_leb(put, blocks[i].pages);
        address = blocks[i].address;
        stamp = blocks[i].stamp;
    }
}

bool seep_residence_take_head(struct seep_take *take, struct seep_residence_head *ret_head) {
    struct seep_residence_head head = {.pid = seep_take_u32(take)};
    head.start_realtime_ns = seep_take_zigzag(take);
    head.cpu_ns = seep_take_leb(take);
    head.nr_blocks = seep_take_leb(take);
    *ret_head = head;
    return !take->failed && head.nr_blocks <= SEEP_RESIDENCE_MAX;
}

bool seep_residence_take_block(struct seep_take *take, struct seep_resident_block *block) {
    block->address += (uint64_t)seep_take_zigzag(take);
    block->stamp += (uint64_t)seep_take_zigzag(take);
    block->pages = seep_take_leb(take);
    return !take->failed && block->pages < UINT64_MAX >> 12;
}

static struct seep_error *add_section(struct seep_take *take, uint32_t pid, int64_t start_realtime_ns,
                                      struct seep_residences *residences, bool *ret_good) {
    struct seep_residence_head head;
    struct seep_resident_block block = {0};
    *ret_good = seep_residence_take_head(take, &head);
    if (!*ret_good || head.pid != pid || head.start_realtime_ns != start_realtime_ns)
        return NULL;
    residences->cpu_ns = SEEP_MAX(residences->cpu_ns, head.cpu_ns);
    for (uint64_t i = 0; i < head.nr_blocks; i++) {
        *ret_good = seep_residence_take_block(take, &block);
        if (!*ret_good)
            return NULL;
        uint64_t *pages =
            seep_map_at(&residences->pages, seep_residence_key(block.address, block.stamp), NULL);
        if (!pages)
            return seep_error_no_memory();
        *pages = SEEP_MAX(*pages, block.pages + 1);
        residences->nr_blocks++;
    }
    return NULL;
}

struct seep_error *seep_residences_read(const char *path, uint32_t pid, int64_t start_realtime_ns,
                                        struct seep_residences *ret_residences) {
    struct seep_residences residences = {.pages = SEEP_MAP_INIT};
    struct seep_event_file *file = NULL;
    struct seep_error *error = seep_event_file_open(path, &file);
    bool good = !error;
    if (!error)
        seep_event_file_only(file, SEEP_TRACE_RESIDENCE);
    while (!error && good) {
        uint32_t type;
        struct seep_take take;
        error = seep_event_file_section(file, &type, &take);
        if (error || !type)
            break;
        if (type == SEEP_TRACE_RESIDENCE)
            error = add_section(&take, pid, start_realtime_ns, &residences, &good);
    }
    seep_event_file_close(file);
    if (error)
        seep_residences_deinit(&residences);
    else
        *ret_residences = residences;
    return error;
}

void seep_residences_deinit(struct seep_residences *residences) {
    seep_map_deinit(&residences->pages);
    *residences = (struct seep_residences){.cpu_ns = 0};
}
