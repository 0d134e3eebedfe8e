// SPDX-License-Identifier: BSD-2-Clause
//
// The block that libstdc++ keeps so that an exception can be thrown when memory has run out: its largest by
// far, in each program that uses it, and none of the program's own.
#ifndef SEEP_VIEW_EXCEPTION_POOL_H
#define SEEP_VIEW_EXCEPTION_POOL_H

#include "view/view.h"

#define SEEP_EXCEPTION_POOL "libstdc++'s emergency pool for exceptions"

// Whether the stack of `node` allocated it.
SEEP_MUST_CHECK struct seep_error *seep_is_exception_pool(struct seep_stacks *stacks, uint32_t node,
                                                          bool *ret_is);

// Whether the stack of `node` allocated the buffer of a stdio stream of glibc.
SEEP_MUST_CHECK struct seep_error *seep_is_stdio_buffer(struct seep_stacks *stacks, uint32_t node,
                                                        bool *ret_is);
// A row of buffers with at most so many allocations is of the standard streams, and tells nothing about the
// program. A row with more of them is of files that the program opened.
#define SEEP_STANDARD_STREAMS 3u
#define SEEP_STDIO_BUFFERS    "buffers of stdio"

// A holder of a process of the session in words, which live as long as the view. *ret_is_pool, where it is
// asked for: all that it holds is that pool, which the words name, or the buffer of a standard stream.
SEEP_MUST_CHECK struct seep_error *seep_view_holder(struct seep_view *view, uint32_t process,
                                                    const struct seep_holder *holder, const char **ret_text,
                                                    bool *ret_is_pool);
// The same as short as a line of a table: what the holder is. *ret_text is NULL for a block that holds only
// itself, because several pointers lead to it.
SEEP_MUST_CHECK struct seep_error *seep_view_holder_short(struct seep_view *view, uint32_t process,
                                                          const struct seep_holder *holder,
                                                          const char **ret_text, bool *ret_is_pool);

#endif
