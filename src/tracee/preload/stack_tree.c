// SPDX-License-Identifier: BSD-2-Clause
// The stack tree, its index, the sites and the rules table; see stack_tree.h.
#include "preload/proc_maps.h"
#include "preload/stack_tree.h"

enum { FIRST_SIZE_SHIFT = 10, PAGE = 4096 };

// The memory of a table that was published anew, larger, but for the first `kept` bytes; its place stays.
// Where there is no other thread none is reading it: then all of it, for who has a table at hand asks for
// it again after anything new. One that begins now has told so (find_slot) before it looks for a table.
static void give_back(void *table, size_t bytes, size_t kept) {
    atomic_thread_fence(memory_order_seq_cst); // pairs with the one in find_slot
    if (__atomic_load_n(&seep_g.header->areas[SEEP_AREA_THREADS].used, __ATOMIC_RELAXED) <= 1)
        kept = 0;
    if (kept < bytes)
        sys3(SYS_madvise, (unsigned char *)table + kept, (long)(bytes - kept), 4 /* MADV_DONTNEED */);
}

// ---- rules ----------------------------------------------------------------------------------------

static size_t rule_table_bytes(uint64_t size) {
    return sizeof(struct seep_rule_table) + size * sizeof(struct seep_rule_entry);
}

static struct seep_rule_table *new_rule_table(unsigned size_shift) {
    uint64_t size = UINT64_C(1) << size_shift;
    struct seep_rule_table *table = seep_own_memory(rule_table_bytes(size));
    if (table) {
        table->shift = 64 - size_shift;
        table->mask = size - 1;
    }
    return table;
}

static struct seep_rule_entry *free_rule_entry(struct seep_rule_table *table, uint64_t key) {
    uint64_t i = rule_hash(key) >> table->shift;
    while (atomic_load_explicit(&table->entries[i].key, memory_order_relaxed))
        i = (i + 1) & table->mask;
    return &table->entries[i];
}

// A table with room for one more. The old one stays for those who are reading it, as long as there may be
// some. rules_lock held.
static struct seep_rule_table *roomy_rule_table(void) {
    struct seep_rule_table *table = atomic_load_explicit(&seep_g.rules, memory_order_relaxed);
    if (table && table->nr_used < table->mask / 16 * 11)
        return table;
    struct seep_rule_table *larger = new_rule_table(table ? 64 - table->shift + 1 : FIRST_SIZE_SHIFT);
    if (!larger)
        return table && table->nr_used < table->mask - 1 ? table : NULL;
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        const struct seep_rule_entry *old = &table->entries[i];
        uint64_t key = atomic_load_explicit(&old->key, memory_order_relaxed);
        if (!key || key == SEEP_RULE_DEAD) // since a dlclose
            continue;
        struct seep_rule_entry *entry = free_rule_entry(larger, key);
        entry->rule = old->rule;
        entry->frame = old->frame;
        atomic_store_explicit(&entry->key, key, memory_order_relaxed);
        larger->nr_used++;
    }
    atomic_store_explicit(&seep_g.rules, larger, memory_order_release);
    if (table) {
        size_t bytes = rule_table_bytes(table->mask + 1);
        give_back(table, bytes, bytes);
    }
    return larger;
}

struct seep_rule_work seep_rule_work;

// A return address that no call made, put on a fresh stack as what its first function returns to: the first
// instruction of a function (glibc's makecontext does that), or code that ends the process. Nothing lies
// outside it.
bool seep_starts_function(const struct seep_cfi_object *object, uint64_t pc) {
#ifdef SEEP_ARCH_EXIT_CODE_BYTES
    if (sys_readable(pc) && sys_readable(pc + SEEP_ARCH_EXIT_CODE_BYTES - 1) &&
        seep_arch_is_exit_code((const uint8_t *)pc)) // NOLINT(performance-no-int-to-ptr)
        return true;
#endif
#ifdef SEEP_ARCH_EHABI
    (void)object; // an index has no gaps: a function that never returns may well end with a call
    (void)pc;
    return false;
#else
    return object->eh_frame_hdr && seep_rule_row_in(&seep_rule_work, object, pc) == SEEP_CFI_OK &&
           seep_rule_work.row.start == pc;
#endif
}

// Most of what the unwinder leaves below us on the program's stack. A coroutine's stack is scanned whole, and
// what is left of a pointer under a byte may well point into a block of the program.
static SEEP_NOINLINE void wipe_stack_below(void) {
    uint64_t room[88]; // what the unwinder needs as gcc 14 compiles it (tests/lint/test_stack_use.py)
    __builtin_memset(room, 0, sizeof(room));
    __asm__ volatile("" ::"r"(room) : "memory");
}

bool seep_rule_learn(struct seep_walk_frame *walk) {
    if (!seep_lock_take(&seep_g.rules_lock))
        return false;
    uint64_t pc = walk->pc & ~SEEP_PC_EXACT;
    bool exact = walk->pc & SEEP_PC_EXACT;
    struct seep_module_at at;
    if (!seep_module_find(exact ? pc : pc - 1, &at)) {
        if (!exact && seep_maps_is_return_probe(pc)) {
            seep_lock_release(&seep_g.rules_lock);
            return false;
        }
        // JIT code comes and goes: its rule (there is none) is not kept.
        int block = seep_signal_block(pc);
        walk->rule = block < 0 ? seep_rule_make(SEEP_RULE_NO_CFI, 0, false, 0)
                               : seep_rule_make(SEEP_RULE_SIGNAL, block, false, 0);
        walk->frame = SEEP_FRAME_MAKE(0, exact, pc);
        seep_lock_release(&seep_g.rules_lock);
        return true;
    }
    walk->rule = at.object.eh_frame_hdr ? seep_rule_in(&seep_rule_work, &at.object, exact ? pc : pc - 1)
                                        : seep_rule_make(SEEP_RULE_NO_CFI, 0, false, 0);
    int block = seep_signal_block(pc);
    if (block >= 0)
        walk->rule = seep_rule_make(SEEP_RULE_SIGNAL, block, false, 0);
    else if (!exact && seep_rule_kind(walk->rule) == SEEP_RULE_NO_CFI && seep_starts_function(&at.object, pc))
        walk->rule = seep_rule_make(SEEP_RULE_END, 0, false, 0);
    walk->frame = SEEP_FRAME_MAKE(at.module, exact, pc - (at.module ? at.bias_rt : 0));
    struct seep_rule_table *table = rule_known(walk) ? NULL : roomy_rule_table();
    if (table) {
        struct seep_rule_entry *entry = free_rule_entry(table, walk->pc);
        entry->rule = walk->rule.bits;
        entry->frame = walk->frame;
        atomic_store_explicit(&entry->key, walk->pc, memory_order_release);
        table->nr_used++;
    }
    if (at.object.eh_frame_hdr)
        wipe_stack_below();
    seep_lock_release(&seep_g.rules_lock);
    return true;
}

static enum seep_code_kind code_kind(uint64_t pc) {
    struct seep_module_at at;
    if (seep_signal_block(pc) >= 0)
        return SEEP_CODE_OF_SIGNAL;
    if (!seep_module_find(pc - 1, &at))
        return seep_maps_is_data(pc - 1) ? SEEP_CODE_IS_DATA : SEEP_CODE_MADE;
    enum seep_rule_kind kind = at.object.eh_frame_hdr
                                   ? seep_rule_kind(seep_rule_in(&seep_rule_work, &at.object, pc - 1))
                                   : SEEP_RULE_NO_CFI;
    if (kind == SEEP_RULE_SIGNAL)
        return SEEP_CODE_OF_SIGNAL;
    return kind == SEEP_RULE_NO_CFI && seep_starts_function(&at.object, pc) ? SEEP_CODE_AT_START
                                                                            : SEEP_CODE_OF_MODULE;
}

enum seep_code_kind seep_code_kind(uint64_t pc) {
    if (!seep_lock_take(&seep_g.rules_lock))
        return SEEP_CODE_MADE;
    enum seep_code_kind kind = code_kind(pc);
    wipe_stack_below();
    seep_lock_release(&seep_g.rules_lock);
    return kind;
}

// ---- nodes ----------------------------------------------------------------------------------------

static void list_node(struct seep_node_table *table, uint32_t node, uint32_t path) {
    path |= SEEP_PATH_LISTED;
    uint32_t turn = 0;
    while (atomic_load_explicit(&table->entries[(path ^ turn) & table->mask], memory_order_relaxed))
        turn++;
    atomic_store_explicit(&table->entries[(path ^ turn) & table->mask], path ^ node, memory_order_release);
    table->nr_used++;
}

// Lists all nodes there are: a node's parent comes before it. `paths`: room for their hashes.
static void list_all_nodes(struct seep_node_table *table, uint32_t *paths) {
    uint32_t nr_nodes = (uint32_t)seep_g.header->areas[SEEP_AREA_NODES].used;
    for (uint32_t node = 1; node < nr_nodes; node++) {
        const struct seep_image_node *at = &seep_g.nodes[node];
        paths[node] = seep_path_hash(paths[at->parent], seep_frame_hash(at->frame));
        list_node(table, node, paths[node]);
    }
}

static size_t table_bytes(uint32_t bits) {
    return (sizeof(struct seep_node_table) + (sizeof(uint32_t) << bits) + SEEP_LARGEST_PAGE - 1) /
           SEEP_LARGEST_PAGE * SEEP_LARGEST_PAGE;
}

// The hashes lie behind the table, and lose their memory but not their place: what our frames leave on
// the program's stack would point into whatever it mapped there, and a scan take that for held.
static struct seep_node_table *new_node_table(uint32_t bits) {
    if (bits >= 31)
        return NULL;
    size_t bytes = table_bytes(bits),
           paths_bytes = seep_g.header->areas[SEEP_AREA_NODES].used * sizeof(uint32_t);
    unsigned char *memory = sys_private(bytes + paths_bytes);
    if (!memory)
        return NULL;
    struct seep_node_table *table = (struct seep_node_table *)memory;
    table->bits = bits;
    table->mask = (UINT32_C(1) << bits) - 1;
    list_all_nodes(table, (uint32_t *)(memory + bytes));
    sys3(SYS_madvise, memory + bytes, (long)paths_bytes, 4 /* MADV_DONTNEED */);
    seep_own_note(table, bytes + paths_bytes);
    return table;
}

// tree_lock held. The old table stays for those who are reading it, but at most its first page has memory:
// who finds nothing where the others were asks again under the lock. Up to eleven sixteenths of the places
// are taken: what has a few nodes more than half as many need not have twice the places.
static struct seep_node_table *roomy_node_table(void) {
    struct seep_node_table *table = atomic_load_explicit(&seep_g.node_index, memory_order_relaxed);
    if (table && table->nr_used < table->mask / 16 * 11)
        return table;
    // A forked child's copy of the image also has what its parent added while it was copied.
    uint32_t bits = table ? table->bits + 1 : FIRST_SIZE_SHIFT;
    while ((uint32_t)seep_g.header->areas[SEEP_AREA_NODES].used >= 11u << (bits - 4))
        bits++;
    struct seep_node_table *larger = new_node_table(bits);
    if (!larger)
        return table && table->nr_used < table->mask - 1 ? table : NULL;
    atomic_store_explicit(&seep_g.node_index, larger, memory_order_release);
    if (table)
        give_back(table, table_bytes(table->bits), PAGE);
    return larger;
}

// One more element in an area that is an array: its index, or 0. tree_lock held.
static uint32_t append(enum seep_area_kind kind, uint64_t element_bytes) {
    struct seep_image_area *area = &seep_g.header->areas[kind];
    uint64_t index = area->used;
    if ((index + 1) * element_bytes > seep_g.opened[kind]) {
        if (!seep_lock_take(&seep_g.image_lock))
            return 0;
        bool opened = seep_area_open(kind, (index + 1) * element_bytes);
        seep_lock_release(&seep_g.image_lock);
        if (!opened)
            return 0;
    }
    return (uint32_t)index;
}

static uint32_t look_up(uint32_t parent, uint64_t frame, uint32_t path, memory_order order) {
    const struct seep_node_table *table = atomic_load_explicit(&seep_g.node_index, order);
    return table ? find_node(table, parent, frame, path) : 0;
}

// The half of seep_tree_child for what is not there.
static SEEP_NOINLINE uint32_t new_child(uint32_t parent, uint64_t frame, uint32_t path) {
    if (!seep_lock_take(&seep_g.tree_lock))
        return 0;
    uint32_t node = look_up(parent, frame, path, memory_order_relaxed);
    struct seep_node_table *table = node ? NULL : roomy_node_table();
    if (table)
        node = append(SEEP_AREA_NODES, sizeof(struct seep_image_node));
    if (table && node) {
        seep_g.nodes[node] = (struct seep_image_node){.frame = frame, .parent = parent};
        __atomic_store_n(&seep_g.header->areas[SEEP_AREA_NODES].used, node + 1, __ATOMIC_RELEASE);
        list_node(table, node, path);
    }
    seep_lock_release(&seep_g.tree_lock);
    return node;
}

uint32_t seep_tree_child(uint32_t parent, uint64_t frame, uint32_t path) {
    uint32_t node = look_up(parent, frame, path, memory_order_acquire);
    return node ? node : new_child(parent, frame, path);
}

// ---- sites ----------------------------------------------------------------------------------------

static uint32_t find_site(uint32_t node, enum seep_via via) {
    uint32_t site = __atomic_load_n(&seep_g.nodes[node].site, __ATOMIC_ACQUIRE);
    while (site && seep_g.sites[site].via != (uint32_t)via)
        site = __atomic_load_n(&seep_g.sites[site].next, __ATOMIC_ACQUIRE);
    return site;
}

static uint32_t add_site(uint32_t node, enum seep_via via) {
    if (!seep_lock_take(&seep_g.tree_lock))
        return 0;
    uint32_t site = find_site(node, via);
    bool fresh = !site && seep_g.header->areas[SEEP_AREA_SITES].used < SEEP_MAX_SITES;
    if (fresh)
        site = append(SEEP_AREA_SITES, sizeof(struct seep_image_site));
    if (fresh && site) {
        seep_g.sites[site] =
            (struct seep_image_site){.node = node, .via = via, .next = seep_g.nodes[node].site};
        __atomic_store_n(&seep_g.header->areas[SEEP_AREA_SITES].used, site + 1, __ATOMIC_RELEASE);
        __atomic_store_n(&seep_g.nodes[node].site, site, __ATOMIC_RELEASE);
    }
    seep_lock_release(&seep_g.tree_lock);
    return site;
}

uint32_t seep_tree_site(uint32_t node, enum seep_via via) {
    uint32_t site = node ? find_site(node, via) : 0;
    if (!site && node)
        site = add_site(node, via);
    if (!site) {
        seep_lost(SEEP_LOST_NO_SITE);
        return SEEP_SITE_UNKNOWN;
    }
    return site;
}
