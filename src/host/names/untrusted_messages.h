// SPDX-License-Identifier: BSD-2-Clause
//
// What the tool and the reader of untrusted files say to one another (untrusted_symbols.h,
// untrusted_reader.h): a kind, and the arguments of the function of symbols.h that it stands for; the answer
// is what that function returns. Both sides check all that they take.
#ifndef SEEP_NAMES_UNTRUSTED_MESSAGES_H
#define SEEP_NAMES_UNTRUSTED_MESSAGES_H

#include "base/records.h"
#include "names/names.h"
#include "names/symbols.h"

// What is asked of the worker. A private protocol: both ends are of one build.
enum seep_untrusted_kind {
    SEEP_UNTRUSTED_MODULE,
    SEEP_UNTRUSTED_RESOLVE,
    SEEP_UNTRUSTED_VARIABLE,
    SEEP_UNTRUSTED_GLOBAL,
    SEEP_UNTRUSTED_CALLER,
    SEEP_UNTRUSTED_LOCAL,
    SEEP_UNTRUSTED_DECLARE,
    SEEP_UNTRUSTED_POINTEE,
    SEEP_UNTRUSTED_CLASS,
    SEEP_UNTRUSTED_MEMBER,
    SEEP_UNTRUSTED_RETURNED_TEXT,
    SEEP_UNTRUSTED_CLOSE_FILES,
};

// What the reader wishes: a file by its path, or the debug information that a server has for a build-id.
enum seep_untrusted_wish { SEEP_UNTRUSTED_FILE, SEEP_UNTRUSTED_SERVER };

#define SEEP_UNTRUSTED_ANSWER_BYTES ((size_t)8 << 20) // 256 inlined functions, each text at most 16 KiB
#define SEEP_UNTRUSTED_STACK_BYTES  ((size_t)32 << 20)

// The number of bytes, then the bytes.
void seep_untrusted_put_bytes(struct seep_put *put, const uint8_t *bytes, size_t nr_bytes);
// Borrowed from `take`; NULL (and `take` failed) where there are fewer.
const uint8_t *seep_untrusted_take_bytes(struct seep_take *take, size_t *ret_bytes);
// Kept in `names`; NULL where it is NULL.
SEEP_MUST_CHECK struct seep_error *seep_untrusted_take_text(struct seep_take *take, struct seep_names *names,
                                                            const char **ret_text);
// `type` is the number of its type, 0: none.
void seep_untrusted_put_variable(struct seep_put *put, const struct seep_variable *variable, uint64_t type);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_take_variable(struct seep_take *take,
                                                                struct seep_names *names,
                                                                struct seep_variable *ret_variable,
                                                                uint64_t *ret_type);
void seep_untrusted_put_frame(struct seep_put *put, const struct seep_call_frame *frame);
void seep_untrusted_take_frame(struct seep_take *take, struct seep_call_frame *ret_frame);

#endif
