// SPDX-License-Identifier: BSD-2-Clause
// Parts of the text report that are files of their own. Only for report_text*.c.
#ifndef SEEP_OUTPUT_REPORT_TEXT_H
#define SEEP_OUTPUT_REPORT_TEXT_H

#include "view/view.h"
#include "output/format.h"

// Whether to trust the figures, and why not.
SEEP_MUST_CHECK struct seep_error *seep_text_health(FILE *out, const struct seep_view *view,
                                                    const struct seep_style *style);
// Modules without names, by reason, each line behind `lead`.
void seep_text_without_symbols(FILE *out, const struct seep_view *view, const char *lead);

// Where calls were counted and nothing else (SEEP_FLAG_CALLS): by function, size and thread, in the place of
// rows.
bool seep_text_only_calls(const struct seep_view *view);
SEEP_MUST_CHECK struct seep_error *seep_text_calls(FILE *out, const struct seep_view *view,
                                                   const struct seep_style *style);

// The heading and the rows, as stacks or as a table.
SEEP_MUST_CHECK struct seep_error *seep_text_sites(FILE *out, struct seep_view *view,
                                                   const struct seep_style *style);
SEEP_MUST_CHECK struct seep_error *seep_text_table(FILE *out, struct seep_view *view,
                                                   const struct seep_style *style);

// Where memory was mapped, and blocks freed in a wrong way; nothing where there is nothing.
SEEP_MUST_CHECK struct seep_error *seep_text_faults(FILE *out, struct seep_view *view,
                                                    const struct seep_style *style);
SEEP_MUST_CHECK struct seep_error *seep_text_mappings(FILE *out, struct seep_view *view,
                                                      const struct seep_style *style);
SEEP_MUST_CHECK struct seep_error *seep_text_wrong_releases(FILE *out, struct seep_view *view,
                                                            const struct seep_style *style);
// The account of resident memory of each process, or why there is none.
SEEP_MUST_CHECK struct seep_error *seep_text_accounts(FILE *out, struct seep_view *view,
                                                      const struct seep_style *style);
// The classes of leaks and the top holders; of several processes the sums, and which of them leak.
// Nothing where no process was scanned.
SEEP_MUST_CHECK struct seep_error *seep_text_leaks(FILE *out, struct seep_view *view,
                                                   const struct seep_style *style);
// "a.supp:3  leak:make", or what is built in with its reason.
void seep_put_suppression(FILE *out, const struct seep_suppression *suppression);
// What suppressions took, and those that took nothing; nothing where none were given.
void seep_text_suppressed(FILE *out, const struct seep_session *session, const struct seep_style *style);
// When the live blocks were born; nothing where ages are not kept.
void seep_text_ages(FILE *out, const struct seep_view *view, const struct seep_style *style);
// What grows, and of a row whether it does; nothing without snapshots.
SEEP_MUST_CHECK struct seep_error *seep_text_growth(FILE *out, struct seep_view *view,
                                                    const struct seep_style *style);
void seep_text_row_growth(FILE *out, const struct seep_view *view, const struct seep_view_row *row);
// Pools that the program told of; and one line of marks.
SEEP_MUST_CHECK struct seep_error *seep_text_pools(FILE *out, struct seep_view *view,
                                                   const struct seep_style *style);
void seep_text_marks(FILE *out, const struct seep_view *view);
// The name of a function as people read it; whole if there is no memory for that.
void seep_text_function(FILE *out, const char *function);
// Whether frame i and the frame that called it are both inside the C++ library. The caller then stands for
// it.
bool seep_text_is_inside(const struct seep_view *view, const struct seep_view_frame *frames, size_t nr,
                         size_t i);
// The stack of a row, a line for each frame.
SEEP_MUST_CHECK struct seep_error *seep_text_stack(FILE *out, struct seep_view *view,
                                                   const struct seep_view_row *row,
                                                   const struct seep_style *style);

// The processes as a tree; one by one as the header of a report has them.
SEEP_MUST_CHECK struct seep_error *seep_text_processes(FILE *out, const struct seep_view *view,
                                                       const struct seep_style *style);
void seep_text_command_line(FILE *out, const struct seep_process *process);
// The program of a process without its directory; "" where it is not known.
void seep_text_exit(FILE *out, const struct seep_process *process);

// How many rows the report shows, of how many; nr_idle are beyond both: nothing of them is live.
struct seep_text_extent {
    uint64_t nr_shown;
    uint64_t nr_all;
    uint64_t nr_idle;
};
struct seep_text_extent seep_text_extent(const struct seep_view *view);

// The class of a block as people know it: "lost", "indirectly lost", "possibly lost", "reachable".
const char *seep_text_kind(uint32_t kind);

// The index-th process that the view looks at.
const struct seep_profile *seep_text_profile(const struct seep_view *view, size_t index);

#endif
