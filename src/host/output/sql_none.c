// SPDX-License-Identifier: BSD-2-Clause
// The place of `seep sql` in a build without SQLite.
#include "output/sql.h"

const char *const seep_sql_lacks = "libsqlite3";

struct seep_error *seep_sql_open(struct seep_view *view, const struct seep_sql_sites *sites,
                                 const struct seep_summary *summary, const struct seep_event_source *events,
                                 struct seep_sql **ret_sql) {
    return seep_error_create(SEEP_E_UNSUPPORTED, "seep was built without libsqlite3");
}

void seep_sql_close(struct seep_sql *sql) {
}

struct seep_error *seep_sql_run(struct seep_sql *sql, const char *statements, enum seep_sql_form form,
                                FILE *out) {
    return seep_error_create(SEEP_E_UNSUPPORTED, "seep was built without libsqlite3");
}

void seep_sql_stop(struct seep_sql *sql) {
}
