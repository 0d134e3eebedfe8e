// SPDX-License-Identifier: BSD-2-Clause
// Processes of a run that nothing has come from; see run.h.
#ifndef SEEP_SOURCE_RUN_RUN_IDLE_H
#define SEEP_SOURCE_RUN_RUN_IDLE_H

#include "base/map.h"
#include "source/run/run.h"

// Before the program starts: counts the processes that there were until then, because that shortens the
// search.
void seep_run_idle_begin(struct seep_run *run);

// Fills run->idle: descendants that run on and are a key of neither map (the second: with a value that is not
// 0). They are known by the socket that their environment names, or by the image of an ancestor.
SEEP_MUST_CHECK struct seep_error *seep_run_find_idle(struct seep_run *run, const char *socket,
                                                      const struct seep_map *with_image,
                                                      const struct seep_map *with_notice,
                                                      const struct seep_map *image_files);

// What the environment that a process began with says of the socket.
enum seep_run_named { SEEP_RUN_NAMED, SEEP_RUN_NOT_NAMED, SEEP_RUN_NAME_UNKNOWN }; // the last: not to be read
enum seep_run_named seep_run_names_socket(pid_t pid, const char *socket);

// Whether one of these images, by its inode, is mapped in the process: a child of fork has that of its parent
// until it makes its own, also where its environment was overwritten, as by a program that shows a title. A
// tool that reads the image has it mapped, too, but not the library.
bool seep_run_has_image(pid_t pid, const struct seep_map *image_files);

// "": it is gone.
void seep_run_idle_name(pid_t pid, char ret_name[SEEP_RUN_IDLE_NAME_BYTES]);

#endif
