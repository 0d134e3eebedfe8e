// SPDX-License-Identifier: BSD-2-Clause
//
// A process and its traced descendants from look to look, or what a file says of them: what is live now, what
// came since the look before and since a mark, and how it went over the time watched. Data for a screen and
// for a console; it prints nothing.
//
// A look only reads the images: the processes are neither stopped nor signalled, and do not wait for it.
//
// Invariant: sites keep their ids while an image lives (a life: from exec or fork to its end), so figures of
// two looks belong together by (life, site).
#ifndef SEEP_LIVE_LIVE_H
#define SEEP_LIVE_LIVE_H

#include <sys/types.h>

#include "growth/series.h"
#include "profile/profile.h"
#include "source/image/image_copy.h"
#include "wire/wire_client.h"

#define SEEP_LIVE_POINTS 64u  // of the history of totals, as of the series of a site
#define SEEP_LIVE_LOG    200u // lines

// ---- a look ----

struct seep_look {
    struct seep_session *session; // NULL: nothing could be read, see `error`
    struct seep_error *error;
    int64_t at_ns;      // CLOCK_MONOTONIC, when it was done
    int64_t took_ns;    // that it took; of a process here: of the processor
    int64_t noted_ns;   // when the files of its processes were looked into last
    uint64_t epoch;     // over a link: two looks of one epoch are the same; here 0
    bool ended;         // the process has ended; the session is of its image as it was left
    int *image_fds;     // by process of the session: of its image, to read it when it has ended; -1: none
    size_t nr_images;   // as many as the session has processes
    uint64_t rss_bytes; // of all its processes; 0: not known, as the others
    uint64_t used_bytes;
    uint64_t limit_bytes;
    char limit[160]; // what that is: "memory.max of /job"
    uint32_t nr_threads;
    uint64_t nr_unseen; // descendants without an image, or beyond SEEP_LOOK_PROCESSES
};

// What is looked at. Safe to be called from another thread than the one that has the struct seep_live.
struct seep_live_source {
    const char *name;              // as the user said it: a pid or a file
    bool is_pid;                   // something that runs, or did: a process, here or behind a link
    pid_t pid;                     // 0: behind a link
    bool is_ours;                  // seep started it: without an image it may be starting, or executing
    struct seep_wire_client *link; // NULL: here
    uint64_t started; // of the process, in ticks since boot: what tells it from a later one of the same pid
};
// `key_file`: of a name "tcp:HOST:PORT"; NULL: none.
SEEP_MUST_CHECK struct seep_error *seep_live_source_of(const char *name, const char *key_file,
                                                       struct seep_live_source *ret_source);
void seep_live_source_deinit(struct seep_live_source *source);
// Stops the process, see scan/scan.h.
SEEP_MUST_CHECK struct seep_error *seep_live_source_scan(const struct seep_live_source *source,
                                                         struct seep_session **ret_session);
// Names this moment in the image.
SEEP_MUST_CHECK struct seep_error *seep_live_source_mark(const struct seep_live_source *source,
                                                         const char *name);
// What the processes of the last look record from now on. *ret_done: all of them do so already; one that is
// not there any more counts for that.
SEEP_MUST_CHECK struct seep_error *seep_live_source_control(const struct seep_live_source *source,
                                                            const struct seep_look *look,
                                                            const struct seep_image_control *asked,
                                                            bool *ret_done);
// What seep_live_source_control did, in words.
void seep_live_describe_control(const struct seep_image_control *asked, bool is_done, char *ret_text,
                                size_t text_bytes);
// Whether a process of the look records no allocations now.
bool seep_look_is_stopped(const struct seep_look *look);
// Over a link what a look does not bring: blocks, mappings, marks. *ret_session stays NULL where the look has
// all.
SEEP_MUST_CHECK struct seep_error *seep_live_source_whole(const struct seep_live_source *source,
                                                          struct seep_session **ret_session);

// A page of the blocks, the largest first; only over a link, see seep_wire_client_blocks.
SEEP_MUST_CHECK struct seep_error *seep_live_source_blocks(const struct seep_live_source *source,
                                                           uint64_t process, uint64_t site, uint64_t first,
                                                           uint64_t nr, struct seep_wire_block **ret_blocks,
                                                           size_t *ret_nr, uint64_t *ret_all);

// Only over a link: a look at the `nr` sites that have most and one that stands for all others. What follows
// is no successor of it: sites have other ids.
void seep_look_make_top(const struct seep_live_source *source, uint32_t nr, struct seep_look *ret_look);
// `before`: the last look, NULL at first; when the process is gone it is read from the descriptors of that.
void seep_look_make(const struct seep_live_source *source, const struct seep_look *before,
                    struct seep_look *ret_look);
void seep_look_deinit(struct seep_look *look); // of zeros, too

// ---- from look to look ----

// What a site, or a thread, had at a moment.
struct seep_live_figures {
    uint64_t live_bytes; // of a thread: allocated
    uint64_t live_blocks;
    uint64_t freed_bytes;
    uint64_t allocations;
    uint64_t frees;
    uint64_t temporary;
};
struct seep_live_moment {
    struct seep_live_figures *sites; // by id
    uint32_t nr_sites;
    struct seep_live_figures *threads; // by slot
    uint32_t nr_threads;
};

#define SEEP_LIVE_MARKS 8u // made here, and kept because looks over a link bring no marks

struct seep_life {
    uint32_t pid;
    int64_t start_realtime_ns;
    struct seep_live_moment before;                 // at the look before the last; nothing: it was not there
    struct seep_live_moment last;                   // at the last one
    struct seep_live_moment mark;                   // at the mark; nothing: it was not there
    struct seep_live_moment marks[SEEP_LIVE_MARKS]; // as `mark`, of live->marks
    int64_t before_ns;                              // CLOCK_MONOTONIC of `before`; 0: there is none
    int64_t last_ns;
    struct seep_series series;
    bool there; // in the last look
    char name[64];
};

struct seep_live_point { // of the totals
    int64_t at_ns;       // CLOCK_MONOTONIC
    uint64_t live_bytes;
    uint64_t rss_bytes;
    bool rates_known;
    double allocations_per_s;
    double frees_per_s;
};

struct seep_live_totals {
    uint64_t live_bytes;
    uint64_t live_blocks;
    uint64_t peak_bytes;
    bool peak_exact; // of one process only
    uint64_t allocations;
    uint64_t frees;
    uint64_t temporary;
    uint32_t nr_threads; // that run; 0: not known
    bool rates_known;
    double bytes_per_s; // of live bytes
    double allocations_per_s;
    double frees_per_s;
    int temporary_percent; // of the allocations since the look before, or of all; -1: there were none
    uint64_t rss_bytes;    // 0: not known, as the next
    uint64_t limit_bytes;
    double seconds_left; // until the limit, as it grows now; below 0: it does not, or that is not known
    int64_t since_bytes; // the mark
    int64_t since_blocks;
};

struct seep_live {
    struct seep_look look; // the last that showed something
    // The next look leaves the session of `look` in `outdated`, for what was made of it.
    bool keeps_look;
    struct seep_session *outdated;
    struct seep_live_totals totals;
    struct seep_life **lives;
    size_t nr_lives;
    size_t lives_capacity;
    uint32_t *life_of; // by process of the session: index in lives
    struct seep_live_point points[SEEP_LIVE_POINTS];
    size_t nr_points;
    uint32_t point_step; // of the looks that come every so many are kept
    uint32_t point_skipped;
    char mark[64];   // "": none; of a file the name of its last mark
    int64_t mark_ns; // CLOCK_MONOTONIC; of a file 0
    struct {
        char name[64];
        int64_t at_ns;
    } marks[SEEP_LIVE_MARKS]; // the last ones, in turn
    uint64_t nr_marks;        // of all time
    uint64_t nr_looks;
    // The last scan, made on demand.
    struct seep_session *scanned; // NULL: none
    int64_t scanned_ns;
    char *log[SEEP_LIVE_LOG]; // malloc'ed, the oldest first
    size_t nr_log;
};

// Without a look. _deinit frees all that it has taken.
void seep_live_init(struct seep_live *live);
void seep_live_deinit(struct seep_live *live);

// The look is what is now. Takes it, also on failure. A look that shows nothing is an error the first time;
// later what was seen last stays, and the log says why.
SEEP_MUST_CHECK struct seep_error *seep_live_take(struct seep_live *live, struct seep_look *look);
// What was made of an outdated look is gone.
void seep_live_forget(struct seep_live *live);
// From now on `since` is counted from what the last look shows.
SEEP_MUST_CHECK struct seep_error *seep_live_mark(struct seep_live *live, const char *name);
// From a mark of the profiles; the last one of that name.
SEEP_MUST_CHECK struct seep_error *seep_live_mark_of_profile(struct seep_live *live, const char *name);
// Takes the session.
void seep_live_take_scan(struct seep_live *live, struct seep_session *session, int64_t at_ns);
// What cannot be kept for want of memory is left out.
SEEP_PRINTF(2, 3) void seep_live_log(struct seep_live *live, const char *format, ...);

#endif
