// SPDX-License-Identifier: BSD-2-Clause
//
// A demangled name as people read it: std::string for what it stands for, without default template arguments,
// ABI tags, clone suffixes and the return types of templates; of what is still long, lists of arguments
// become "…". Several names may come to the same; who shows them must see to that.
#ifndef SEEP_NAMES_SHORT_NAME_H
#define SEEP_NAMES_SHORT_NAME_H

#include "base/error.h"

#define SEEP_SHORT_NAME_COLUMNS 80u // what is longer is elided, as far as there are lists of arguments

// malloc'ed; NULL in *ret_short: the name is short as it is.
SEEP_MUST_CHECK struct seep_error *seep_name_shorten(const char *name, char **ret_short);
// The same for names that would become the same: only names of more than `columns` are elided, and the first
// `nr_kept` arguments of the function stay.
SEEP_MUST_CHECK struct seep_error *seep_name_shorten_to(const char *name, unsigned columns, unsigned nr_kept,
                                                        char **ret_short);
// Leaves scopes of a name out from the beginning, "…::table<int>::grow()", until it has no more than
// `columns`; the function and the innermost scope stay. In place: what is there is shorter after that.
void seep_name_drop_scopes(char *name, unsigned columns);
// The same of a type, or of a variable with its type before it: of those only arguments of templates are
// elided.
SEEP_MUST_CHECK struct seep_error *seep_type_shorten(const char *type, char **ret_short);

#endif
