// SPDX-License-Identifier: BSD-2-Clause
//
// What an output says of a view as a whole. It is made once, below the outputs, which only print it.
#ifndef SEEP_VIEW_SUMMARY_H
#define SEEP_VIEW_SUMMARY_H

#include "view/view.h"

struct seep_summary {
    const char *source; // how the user names the data ("app.seep", a pid); NULL: there is nothing to name
};

#endif
