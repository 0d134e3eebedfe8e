// SPDX-License-Identifier: BSD-2-Clause
// Chains of pointers in words, see chain.h. Where there is debug information, variables have their types, and
// the pointers inside of blocks are named as members: the type of a block is what the pointer to it is
// declared to lead to.
#ifndef SEEP_VIEW_CHAIN_WORDS_H
#define SEEP_VIEW_CHAIN_WORDS_H

#include "view/stacks.h"

#define SEEP_CHAIN_TEXT_BYTES 4096

struct seep_chain_words {
    const struct seep_profile *profile; // borrowed, as is all of it
    struct seep_stacks *stacks;
    const uint32_t *nodes;            // of the profile to nodes of stacks
    char text[SEEP_CHAIN_TEXT_BYTES]; // what was put since the last clearing
    size_t used;
    size_t size_end;              // where the size of the block that was put last ends in the text
    const struct seep_type *type; // of the memory that the latest link leads to; NULL: not known
};

// All arguments are borrowed.
void seep_chain_words_init(struct seep_chain_words *words, const struct seep_profile *profile,
                           struct seep_stacks *stacks, const uint32_t *nodes);
// Makes the text empty for the next chain.
void seep_chain_words_clear(struct seep_chain_words *words);
// Texts that are too long are cut.
void seep_chain_put(struct seep_chain_words *words, const char *format, ...) SEEP_PRINTF(2, 3);

SEEP_MUST_CHECK struct seep_error *seep_chain_put_link(struct seep_chain_words *words,
                                                       const struct seep_link *link);
SEEP_MUST_CHECK struct seep_error *seep_chain_put_all(struct seep_chain_words *words,
                                                      const struct seep_chain *chain);
// What the last pointer of the chain that was put last is declared to lead to, "struct user"; NULL: not
// known. Lives as long as the symbols.
SEEP_MUST_CHECK struct seep_error *seep_chain_type(struct seep_chain_words *words, const char **ret_type);
// "Circle", where the block is a C++ object whose vtable has a name; else nothing.
SEEP_MUST_CHECK struct seep_error *seep_chain_put_class(struct seep_chain_words *words,
                                                        const struct seep_link *block);

#endif
