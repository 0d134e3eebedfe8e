// SPDX-License-Identifier: BSD-2-Clause
//
// Who started whom in a session. A node is a profile: one process from its start, fork or exec on; a
// process that went on as another program (exec) has several, one below the other.
#ifndef SEEP_ANALYSIS_PROCESS_TREE_H
#define SEEP_ANALYSIS_PROCESS_TREE_H

#include "profile/profile.h"

#define SEEP_NO_PROCESS UINT32_MAX

enum seep_origin {
    SEEP_ORIGIN_START, // by a program that is not traced, or is not in the session
    SEEP_ORIGIN_FORK,  // by fork: with a copy of its parent's blocks
    SEEP_ORIGIN_SPAWN, // a new program in a new process
    SEEP_ORIGIN_EXEC,  // a new program in the process of its parent node
};

struct seep_process_node {
    uint32_t parent;       // index in the session, or SEEP_NO_PROCESS
    uint32_t first_child;  // in order of start; SEEP_NO_PROCESS: none
    uint32_t next_sibling; // also of roots
    uint32_t depth;        // 0: a root
    enum seep_origin origin;
};

struct seep_process_tree {
    struct seep_process_node *nodes; // by index in the session
    uint32_t *order;                 // all of them, each parent before its children, depth first
    uint32_t nr;
};

// O(n log n). The tree knows nothing of the session afterwards.
SEEP_MUST_CHECK struct seep_error *seep_process_tree_init(const struct seep_session *session,
                                                          struct seep_process_tree *ret_tree);
void seep_process_tree_deinit(struct seep_process_tree *tree);

const char *seep_origin_name(enum seep_origin origin); // "start", "fork", "spawn", "exec"

#endif
