// SPDX-License-Identifier: BSD-2-Clause
// Bringing back what was swapped out, see image_swap.h.
#include <sys/sysinfo.h>

#include "preload/image_swap.h"
#include "preload/image_window.h"

enum {
    WILL_NEED = 3,    // MADV_WILLNEED: of a memory file it starts to read what is in swap, and makes no holes
    PATIENCE = 100,   // rounds without progress
    NR_ROUNDS = 1000, // each but the first ones of at most 10 ms
};

bool seep_swap_is_used(void) {
    struct sysinfo info;
    return sys3(SYS_sysinfo, &info, 0, 0) == 0 && info.freeswap < info.totalswap;
}

// ---- how much is out ------------------------------------------------------------------------------

struct lines {
    int fd;
    size_t at, nr;
    char bytes[1024];
    char line[64]; // the beginning of one
};

static bool next_line(struct lines *lines) {
    size_t length = 0;
    for (;;) {
        if (lines->at == lines->nr) {
            long got = sys3(SYS_read, lines->fd, lines->bytes, sizeof(lines->bytes));
            if (got <= 0)
                return false;
            lines->at = 0;
            lines->nr = (size_t)got;
        }
        char c = lines->bytes[lines->at++];
        if (length < sizeof(lines->line) - 1)
            lines->line[length++] = c;
        if (c == '\n')
            break;
    }
    lines->line[length] = 0;
    return true;
}

// "7f00a0000000-7f00b0000000 rw-s ...": where the mapping begins. false: another line.
static bool mapping_start(const char *line, uint64_t *ret_start) {
    *ret_start = 0;
    for (; *line != '-'; line++) {
        bool digit = *line >= '0' && *line <= '9';
        if (!digit && !(*line >= 'a' && *line <= 'f'))
            return false;
        *ret_start = *ret_start << 4 | (uint64_t)(digit ? *line - '0' : *line - 'a' + 10);
    }
    return true;
}

// "Swap:   12 kB": the number; 0 of every other line.
static uint64_t swapped_in_line(const char *line) {
    static const char name[] = "Swap:";
    for (size_t i = 0; i < sizeof(name) - 1; i++)
        if (line[i] != name[i])
            return 0;
    uint64_t value = 0;
    for (const char *at = line + sizeof(name) - 1; *at; at++)
        if (*at >= '0' && *at <= '9')
            value = value * 10 + (uint64_t)(*at - '0');
    return value;
}

// KiB of the image in swap. UINT64_MAX: not known.
static uint64_t swapped_out(const unsigned char *image) {
    static struct lines lines; // one thread makes an image or writes the file, and its stack may be small
    lines.at = lines.nr = 0;
    lines.fd = sys_open("/proc/self/smaps", O_RDONLY | O_CLOEXEC, 0);
    if (lines.fd < 0)
        return UINT64_MAX;
    uint64_t first = (uintptr_t)image, sum = 0, start;
    bool ours = false, any = false;
    while (next_line(&lines)) {
        if (mapping_start(lines.line, &start))
            ours = start >= first && start - first < seep_g.window_bytes;
        else if (ours)
            sum += swapped_in_line(lines.line);
        any |= ours;
    }
    sys_close(lines.fd);
    return any ? sum : UINT64_MAX;
}

// ---- bringing it back -----------------------------------------------------------------------------

// A page that has come back is in the file again once it has been touched.
static void touch_present(const unsigned char *image) {
    unsigned char present[256];
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++) {
        uint64_t nr_pages = seep_window_filled(image, (enum seep_area_kind)i) / SEEP_IMAGE_PAGE;
        const unsigned char *area = image + seep_g.area_off[i];
        for (uint64_t page = 0; page < nr_pages; page += sizeof(present)) {
            const unsigned char *at = area + page * SEEP_IMAGE_PAGE;
            uint64_t nr = SEEP_MIN(nr_pages - page, sizeof(present));
            if (!seep_pages_present(at, nr, present))
                continue;
            for (uint64_t j = 0; j < nr; j++)
                if (present[j] & 1)
                    (void)*(const volatile unsigned char *)(at + j * SEEP_IMAGE_PAGE);
        }
    }
}

static bool bring_back(const unsigned char *image) {
    uint64_t least = UINT64_MAX;
    int last_progress = 0;
    for (int round = 0; round < NR_ROUNDS && round - last_progress < PATIENCE; round++) {
        (void)*(const volatile unsigned char *)image; // the header
        sys3(SYS_madvise, image, seep_g.window_bytes, WILL_NEED);
        touch_present(image);
        uint64_t left = swapped_out(image);
        if (left == 0 || left == UINT64_MAX)
            return left == 0;
        if (left < least)
            last_progress = round;
        least = SEEP_MIN(least, left);
        sys_nap_us(round < 10 ? 1000 : 10000);
    }
    return false;
}

bool seep_swap_in(const unsigned char *image) {
    return !seep_swap_is_used() || bring_back(image);
}
