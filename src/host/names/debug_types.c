// SPDX-License-Identifier: BSD-2-Clause
// Names of types and paths of members, see debug_types.h.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "names/debug_info.h"
#include "names/debug_types.h"

#define DEPTH_MAX      64u
#define MEMBERS_MAX    65536u // looked at for one question
#define DIMENSIONS_MAX 8u
#define POINTER_BYTES  8u

void seep_type_text_put(struct seep_type_text *text, const char *more) {
    size_t room = sizeof(text->bytes) - text->used, nr = strlen(more);
    if (text->is_cut)
        return;
    if (nr + 4 > room) { // what ends the text has to fit as well
        text->is_cut = true;
        nr = 3;
        more = "...";
    }
    memcpy(text->bytes + text->used, more, nr);
    text->used += nr;
    text->bytes[text->used] = 0;
}

// ---- from type to type ----

static bool follow_type(Dwarf_Die *entry, Dwarf_Die *ret_type) {
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr_integrate(entry, DW_AT_type, &attribute), ret_type) != NULL;
}

static bool is_qualifier(int tag) {
    return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
           tag == DW_TAG_atomic_type;
}

static bool peel(Dwarf_Die *type, bool typedefs, Dwarf_Die *ret_type) {
    Dwarf_Die at = *type;
    for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
        int tag = dwarf_tag(&at);
        if (!is_qualifier(tag) && !(typedefs && tag == DW_TAG_typedef)) {
            *ret_type = at;
            return true;
        }
        Dwarf_Die next;
        if (!follow_type(&at, &next))
            return false; // const void
        at = next;
    }
    return false;
}

bool seep_type_of(Dwarf_Die *entry, Dwarf_Die *ret_type) {
    Dwarf_Die type;
    return follow_type(entry, &type) && peel(&type, false, ret_type);
}

bool seep_type_plain(Dwarf_Die *type, Dwarf_Die *ret_type) {
    return peel(type, true, ret_type);
}

static bool is_pointer(int tag) {
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool seep_type_is_aggregate(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool seep_type_pointee(Dwarf_Die *type, Dwarf_Die *ret_type) {
    Dwarf_Die plain;
    return seep_type_plain(type, &plain) && is_pointer(dwarf_tag(&plain)) && seep_type_of(&plain, ret_type);
}

uint64_t seep_type_bytes(Dwarf_Die *type) {
    Dwarf_Die plain;
    Dwarf_Word bytes;
    if (!seep_type_plain(type, &plain))
        return 0;
    return dwarf_aggregate_size(&plain, &bytes) == 0 ? bytes : 0;
}

// ---- names ----

static void put_number(struct seep_type_text *text, const char *before, uint64_t number, const char *behind) {
    char digits[64];
    snprintf(digits, sizeof(digits), "%s%" PRIu64 "%s", before, number, behind);
    seep_type_text_put(text, digits);
}

bool seep_type_is_of_c(Dwarf_Die *type) {
    switch (seep_debug_language(type)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
        return true;
    default:
        return false;
    }
}

static const char *keyword(int tag) {
    switch (tag) {
    case DW_TAG_structure_type:
        return "struct ";
    case DW_TAG_union_type:
        return "union ";
    case DW_TAG_enumeration_type:
        return "enum ";
    default:
        return "";
    }
}

// "app::" of what is declared in a namespace or a class.
static void put_scopes(Dwarf_Die *type, struct seep_type_text *text) {
    Dwarf_Die *scopes = NULL;
    int nr = dwarf_getscopes_die(type, &scopes);
    for (int i = nr - 1; i > 0; i--) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = dwarf_diename(&scopes[i]);
        if ((tag != DW_TAG_namespace && !seep_type_is_aggregate(tag)) || !name)
            continue;
        seep_type_text_put(text, name);
        seep_type_text_put(text, "::");
    }
    free(scopes);
}

static void put_named(Dwarf_Die *type, struct seep_type_text *text) {
    int tag = dwarf_tag(type);
    const char *name = dwarf_diename(type);
    bool c = seep_type_is_of_c(type);
    if (c || !name)
        seep_type_text_put(text, keyword(tag));
    if (!c && name && tag != DW_TAG_base_type)
        put_scopes(type, text);
    seep_type_text_put(text, name ? name : "{...}");
}

// The numbers of elements, the outermost first. An unknown one is 0.
static unsigned dimensions(Dwarf_Die *array, uint64_t nr_elements[DIMENSIONS_MAX]) {
    Dwarf_Die child;
    unsigned nr = 0;
    for (int got = dwarf_child(array, &child); got == 0 && nr < DIMENSIONS_MAX;
         got = dwarf_siblingof(&child, &child)) {
        Dwarf_Attribute attribute;
        Dwarf_Word value;
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        nr_elements[nr] = 0;
        if (dwarf_formudata(dwarf_attr(&child, DW_AT_count, &attribute), &value) == 0)
            nr_elements[nr] = value;
        else if (dwarf_formudata(dwarf_attr(&child, DW_AT_upper_bound, &attribute), &value) == 0)
            nr_elements[nr] = value + 1;
        nr++;
    }
    return nr;
}

unsigned seep_type_dimensions(Dwarf_Die *array) {
    uint64_t nr_elements[DIMENSIONS_MAX];
    return dimensions(array, nr_elements);
}

// What stands around the name in a declaration, which grows to both sides: "(*name[3])()".
static void put_before(struct seep_type_text *text, const char *more) {
    size_t nr = strlen(more);
    if (text->is_cut || text->used + nr + 4 > sizeof(text->bytes)) {
        text->is_cut = true;
        return;
    }
    memmove(text->bytes + nr, text->bytes, text->used + 1);
    memcpy(text->bytes, more, nr);
    text->used += nr;
}

static void put_dimensions(struct seep_type_text *text, Dwarf_Die *array) {
    uint64_t nr_elements[DIMENSIONS_MAX];
    unsigned nr = dimensions(array, nr_elements);
    for (unsigned i = 0; i < nr; i++) {
        if (nr_elements[i])
            put_number(text, "[", nr_elements[i], "]");
        else
            seep_type_text_put(text, "[]");
    }
}

static void put_pointer(struct seep_type_text *text, int tag, Dwarf_Die *to, bool known) {
    Dwarf_Die plain;
    int to_tag = known && peel(to, false, &plain) ? dwarf_tag(&plain) : 0;
    bool around = to_tag == DW_TAG_array_type || to_tag == DW_TAG_subroutine_type;
    const char *sign = tag == DW_TAG_pointer_type ? "*" : tag == DW_TAG_reference_type ? "&" : "&&";
    put_before(text, sign);
    if (around) {
        put_before(text, "(");
        seep_type_text_put(text, ")");
    }
}

static const char *qualifier(int tag) {
    return tag == DW_TAG_const_type ? "const" : tag == DW_TAG_volatile_type ? "volatile" : "";
}

// One step outward in a declaration. Qualifiers of a pointer stand at its name, others before the whole.
static void put_part(struct seep_type_text *text, struct seep_type_text *front, Dwarf_Die *type,
                     Dwarf_Die *next, bool known) {
    int tag = dwarf_tag(type);
    const char *word = qualifier(tag);
    if (is_pointer(tag)) {
        put_pointer(text, tag, next, known);
    } else if (tag == DW_TAG_array_type) {
        put_dimensions(text, type);
    } else if (tag == DW_TAG_subroutine_type) {
        seep_type_text_put(text, "()");
    } else if (*word && known && is_pointer(dwarf_tag(next))) {
        put_before(text, text->used ? " " : "");
        put_before(text, word);
    } else if (*word && !strstr(front->bytes, word)) { // of an array and of its elements it is said once
        seep_type_text_put(front, word);
        seep_type_text_put(front, " ");
    }
}

void seep_type_declare(Dwarf_Die *type, const char *name, struct seep_type_text *text) {
    struct seep_type_text around = {.used = 0}, front = {.used = 0};
    Dwarf_Die at = *type;
    bool known = true;
    seep_type_text_put(&around, name);
    for (unsigned depth = 0; known && depth < DEPTH_MAX; depth++) {
        int tag = dwarf_tag(&at);
        Dwarf_Die next;
        if (!is_pointer(tag) && !is_qualifier(tag) && tag != DW_TAG_array_type &&
            tag != DW_TAG_subroutine_type)
            break;
        known = follow_type(&at, &next);
        put_part(&around, &front, &at, &next, known);
        if (known)
            at = next;
    }
    seep_type_text_put(text, front.bytes);
    if (known)
        put_named(&at, text);
    else
        seep_type_text_put(text, "void");
    seep_type_text_put(text, around.used ? " " : "");
    seep_type_text_put(text, around.bytes);
}

// ---- members ----

struct walk {
    struct seep_type_text *path;
    unsigned budget;
    Dwarf_Die type; // where it is
    uint64_t off;   // in that
    bool is_open;   // still in the outermost type: what lies behind it may be its flexible array
    bool is_raw;    // in characters, which may be anything
};

static bool has_pointer(Dwarf_Die *type) {
    Dwarf_Die plain, child, inner;
    if (!seep_type_plain(type, &plain))
        return false;
    int tag = dwarf_tag(&plain);
    if (!seep_type_is_aggregate(tag))
        return is_pointer(tag) || (tag == DW_TAG_array_type && seep_type_of(&plain, &inner) &&
                                   seep_type_plain(&inner, &plain) && is_pointer(dwarf_tag(&plain)));
    unsigned budget = 256;
    for (int got = dwarf_child(&plain, &child); got == 0 && budget--; got = dwarf_siblingof(&child, &child))
        if (dwarf_tag(&child) == DW_TAG_member && seep_type_of(&child, &inner) &&
            seep_type_plain(&inner, &inner) && is_pointer(dwarf_tag(&inner)))
            return true;
    return false;
}

bool seep_type_member_place(Dwarf_Die *member, uint64_t *ret_off, Dwarf_Die *ret_type) {
    int tag = dwarf_tag(member);
    Dwarf_Attribute attribute;
    Dwarf_Word off = 0;
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(member, DW_AT_bit_size) ||
        dwarf_hasattr(member, DW_AT_external) || !seep_type_of(member, ret_type))
        return false;
    if (dwarf_attr(member, DW_AT_data_member_location, &attribute) && dwarf_formudata(&attribute, &off) != 0)
        return false; // a virtual base: its place is in the vtable
    *ret_off = off;
    return true;
}

static bool is_flexible(Dwarf_Die *type) {
    Dwarf_Die plain;
    uint64_t nr_elements[DIMENSIONS_MAX];
    return seep_type_plain(type, &plain) && dwarf_tag(&plain) == DW_TAG_array_type &&
           dimensions(&plain, nr_elements) && !nr_elements[0];
}

// One step into a structure. false: nothing lies there, or it is not known which member of a union does. Of
// several members (of a union, and empty base classes) it is the one with a pointer, then the larger one.
static bool enter_member(struct walk *walk, Dwarf_Die *aggregate) {
    Dwarf_Die child, found, found_type;
    uint64_t found_off = 0, found_bytes = 0;
    unsigned nr_with_pointer = 0;
    bool any = false;
    for (int got = dwarf_child(aggregate, &child); got == 0 && walk->budget;
         got = dwarf_siblingof(&child, &child)) {
        walk->budget--;
        Dwarf_Die type;
        uint64_t off;
        if (!seep_type_member_place(&child, &off, &type) || walk->off < off)
            continue;
        uint64_t bytes = walk->is_open && is_flexible(&type) ? UINT64_MAX : seep_type_bytes(&type);
        if (walk->off - off >= bytes)
            continue;
        nr_with_pointer += has_pointer(&type);
        if (any) {
            bool old = has_pointer(&found_type), new = has_pointer(&type);
            if (old != new ? old : bytes <= found_bytes)
                continue;
        }
        any = true;
        found_bytes = bytes;
        found = child;
        found_type = type;
        found_off = off;
    }
    if (!any || (nr_with_pointer > 1 && dwarf_tag(aggregate) == DW_TAG_union_type))
        return false;
    const char *name = dwarf_tag(&found) == DW_TAG_member ? dwarf_diename(&found) : NULL;
    if (name) {
        seep_type_text_put(walk->path, ".");
        seep_type_text_put(walk->path, name);
    }
    walk->type = found_type;
    walk->off -= found_off;
    return true;
}

static bool enter_array(struct walk *walk, Dwarf_Die *array) {
    uint64_t nr_elements[DIMENSIONS_MAX];
    unsigned nr = dimensions(array, nr_elements);
    Dwarf_Die element;
    uint64_t bytes = follow_type(array, &element) ? seep_type_bytes(&element) : 0;
    if (!bytes || !nr)
        return false;
    uint64_t index = walk->off / bytes;
    for (unsigned i = 0; i < nr; i++) {
        uint64_t below = 1;
        for (unsigned j = i + 1; j < nr; j++)
            if (__builtin_mul_overflow(below, SEEP_MAX(nr_elements[j], (uint64_t)1), &below))
                return false;
        put_number(walk->path, "[", index / below, "]");
        index %= below;
    }
    uint64_t nr_bytes = bytes; // 0: as many as there are
    for (unsigned i = 0; i < nr; i++)
        if (__builtin_mul_overflow(nr_bytes, nr_elements[i], &nr_bytes))
            return false;
    Dwarf_Die plain;
    walk->is_raw = bytes == 1 && seep_type_plain(&element, &plain) &&
                   !seep_type_is_aggregate(dwarf_tag(&plain)) &&
                   (!nr_bytes || (walk->off < nr_bytes && nr_bytes - walk->off >= POINTER_BYTES));
    walk->off %= bytes;
    walk->type = element;
    return true;
}

// Whether a pointer can lie where the walk has ended.
static bool can_hold_pointer(const struct walk *walk) {
    Dwarf_Die type = walk->type, plain;
    if (walk->is_raw)
        return true;
    if (!seep_type_plain(&type, &plain))
        return false;
    if (dwarf_tag(&plain) == DW_TAG_union_type)
        return walk->off < seep_type_bytes(&plain);
    return is_pointer(dwarf_tag(&plain)) && !walk->off;
}

bool seep_type_member(Dwarf_Die *type, uint64_t off, struct seep_type_text *path, Dwarf_Die *ret_type,
                      uint64_t *ret_off) {
    struct walk walk = {.path = path, .budget = MEMBERS_MAX, .type = *type, .off = off, .is_open = true};
    for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
        Dwarf_Die plain;
        if (!seep_type_plain(&walk.type, &plain))
            break;
        int tag = dwarf_tag(&plain);
        bool entered = seep_type_is_aggregate(tag) ? enter_member(&walk, &plain)
                       : tag == DW_TAG_array_type  ? enter_array(&walk, &plain)
                                                   : false;
        if (!entered)
            break;
        walk.is_open = false;
    }
    *ret_type = walk.type;
    *ret_off = walk.off;
    return can_hold_pointer(&walk);
}
