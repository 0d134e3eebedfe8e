// SPDX-License-Identifier: BSD-2-Clause
// The table of outputs, see output.h.
#include "output/output.h"

#define ADDRESS_OF(name) &seep_output_##name,
#define TEXT_OF(name)    #name,

const struct seep_output *const seep_outputs[] = {SEEP_OUTPUTS(ADDRESS_OF) SEEP_EVENT_OUTPUTS(ADDRESS_OF)
                                                      NULL};
const char *const seep_output_names[] = {SEEP_OUTPUTS(TEXT_OF) SEEP_EVENT_OUTPUTS(TEXT_OF) NULL};
const char *const seep_output_report_names[] = {SEEP_OUTPUTS(TEXT_OF) NULL};

const struct seep_output *seep_output_of(const struct seep_view_options *options) {
    if (options->gen_suppressions)
        return options->gen_suppressions == SEEP_GEN_LSAN ? &seep_output_lsan : &seep_output_valgrind;
    if (options->tree)
        return &seep_output_tree;
    if (options->json)
        return options->json == 2 ? &seep_output_json1 : &seep_output_json;
    if (options->csv)
        return &seep_output_csv;
    return options->format == SEEP_FORMAT_DEFAULT ? &seep_output_text : seep_outputs[options->format];
}
