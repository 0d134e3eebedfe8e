// SPDX-License-Identifier: BSD-2-Clause
//
// What a fork child begins with. Its image is a copy of its parent's, with all that the parent has ever
// counted; but the child's figures are of what it does itself. So what the parent had freed by the
// fork goes from all sums, as if it had never been, and what was live counts as allocated, once, and in
// header.inherited_blocks and inherited_bytes.
#ifndef SEEP_PRELOAD_FORK_INHERIT_H
#define SEEP_PRELOAD_FORK_INHERIT_H

#include "preload/preload.h"

// `fresh`: a whole copy in the file `file` that nothing else writes, not yet in its place; its areas are
// visible as far as they are used. `fd` was that file's descriptor, and is used where it still is. false: the
// kernel gave no memory for that, or did not say what there is of it; then it is not to be used.
bool seep_inherit(unsigned char *fresh, int fd, const struct seep_file_id *file);

#endif
