// SPDX-License-Identifier: BSD-2-Clause
//
// What the tool and the reader of foreign files say to one another (far_symbols.h, far_serve.h): a kind, and
// the arguments of the function of symbols.h that it stands for; the answer is what that function returns.
// Both sides check all that they take.
#ifndef SEEP_NAMES_FAR_WORDS_H
#define SEEP_NAMES_FAR_WORDS_H

#include "base/records.h"
#include "names/names.h"
#include "names/symbols.h"

enum seep_far_kind {
    SEEP_FAR_MODULE,
    SEEP_FAR_RESOLVE,
    SEEP_FAR_VARIABLE,
    SEEP_FAR_GLOBAL,
    SEEP_FAR_CALLER,
    SEEP_FAR_LOCAL,
    SEEP_FAR_DECLARE,
    SEEP_FAR_POINTEE,
    SEEP_FAR_CLASS,
    SEEP_FAR_MEMBER,
    SEEP_FAR_RETURNED_TEXT,
    SEEP_FAR_CLOSE_FILES,
};

// What the reader wishes: a file by its path, or the debug information that a server has for a build-id.
enum seep_far_wish { SEEP_FAR_FILE, SEEP_FAR_SERVER };

#define SEEP_FAR_ANSWER_BYTES ((size_t)8 << 20) // 256 inlined functions, each text at most 16 KiB
#define SEEP_FAR_STACK_BYTES  ((size_t)32 << 20)

void seep_far_put_bytes(struct seep_put *put, const uint8_t *bytes, size_t nr_bytes);
const uint8_t *seep_far_take_bytes(struct seep_take *take, size_t *ret_bytes);
// Kept in `names`; NULL where it is NULL.
SEEP_MUST_CHECK struct seep_error *seep_far_take_text(struct seep_take *take, struct seep_names *names,
                                                      const char **ret_text);
// `type` is the number of its type, 0: none.
void seep_far_put_variable(struct seep_put *put, const struct seep_variable *variable, uint64_t type);
SEEP_MUST_CHECK struct seep_error *seep_far_take_variable(struct seep_take *take, struct seep_names *names,
                                                          struct seep_variable *ret_variable,
                                                          uint64_t *ret_type);
void seep_far_put_frame(struct seep_put *put, const struct seep_call_frame *frame);
void seep_far_take_frame(struct seep_take *take, struct seep_call_frame *ret_frame);

#endif
