// SPDX-License-Identifier: BSD-2-Clause
// What make_traces writes of a session: every field of it. A number above 2^63-1 is a string of its digits
// (jansson has no such integers), and text is latin-1, as paths may be any bytes.
#ifndef TRACE_JSON_H
#define TRACE_JSON_H

#include <jansson.h>

#include "file/session_file.h"

json_t *session_json(const struct seep_session *session);

#endif
