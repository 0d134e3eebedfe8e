// SPDX-License-Identifier: BSD-2-Clause
//
// Relocations with addends, see relocations.h. The file may be hostile.
#include "names/relocations.h"

bool seep_relocation_find(const struct seep_symbol_file *file, uint64_t slot,
                          struct seep_relocation *ret_relocation) {
    Elf_Scn *section = NULL;
    uint64_t left = file->file_bytes; // sections that are the same bytes again and again could take any time
    while ((section = elf_nextscn(file->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || header.sh_size > left)
            continue;
        left -= header.sh_size;
        Elf_Data *data = elf_getdata(section, NULL);
        size_t entry_bytes = gelf_fsize(file->elf, ELF_T_RELA, 1, EV_CURRENT);
        size_t nr = data && entry_bytes ? data->d_size / entry_bytes : 0;
        for (size_t i = 0; i < nr && i <= INT32_MAX; i++) {
            if (!gelf_getrela(data, (int)i, &ret_relocation->entry) || ret_relocation->entry.r_offset != slot)
                continue;
            ret_relocation->symbols_index = header.sh_link;
            return true;
        }
    }
    return false;
}

const char *seep_relocation_symbol(const struct seep_symbol_file *file,
                                   const struct seep_relocation *relocation) {
    Elf_Scn *symbols = elf_getscn(file->elf, relocation->symbols_index);
    Elf_Data *table = symbols ? elf_getdata(symbols, NULL) : NULL;
    uint64_t index = GELF_R_SYM(relocation->entry.r_info);
    GElf_Shdr header;
    GElf_Sym symbol;
    if (!table || !gelf_getshdr(symbols, &header) || index > INT32_MAX ||
        !gelf_getsym(table, (int)index, &symbol))
        return NULL;
    return elf_strptr(file->elf, header.sh_link, symbol.st_name);
}
