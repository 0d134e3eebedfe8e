// SPDX-License-Identifier: BSD-2-Clause
//
// All types of a module by DWARF: classes by their names, and which types others have at their beginning.
//
// A pointer to a `struct node` may lead to a larger structure that begins with one. Whether there is such a
// structure only all types of the module can tell: they are read once, when that is first asked.
#ifndef SEEP_NAMES_DEBUG_LAYOUTS_H
#define SEEP_NAMES_DEBUG_LAYOUTS_H

#include "names/debug_info.h"

struct seep_debug_layouts;

// Borrows `info`.
SEEP_MUST_CHECK struct seep_error *seep_debug_layouts_create(struct seep_debug_info *info,
                                                             struct seep_debug_layouts **ret_layouts);
void seep_debug_layouts_destroy(struct seep_debug_layouts *layouts); // takes NULL

// The definition of the class that the demangler calls `name`, "app::Cache<int>"; *ret_found is false where
// there is none, or it is in a namespace without a name, which may have another one of that name.
SEEP_MUST_CHECK struct seep_error *seep_debug_layouts_class(struct seep_debug_layouts *layouts,
                                                            const char *name, bool *ret_found,
                                                            Dwarf_Die *ret_type);

// Whether a type may have a `type` as a member or a base class `off` bytes from its beginning, 0 or 8. So it
// is also where that is not known: the module has too many types. Of another module's `type` as well; types
// are the same by name and size.
SEEP_MUST_CHECK struct seep_error *seep_debug_layouts_embed(struct seep_debug_layouts *layouts,
                                                            Dwarf_Die *type, uint64_t off, bool *ret_may);

#endif
