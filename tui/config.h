/* INI files (themes, key maps) read through inih, with errors that name file, line and field. */
#ifndef WARPLOOP_TUI_CONFIG_H
#define WARPLOOP_TUI_CONFIG_H

#include <stdbool.h>

#include "core/base/error.h"

/* One `key = value` line of a section. Returns false with *e set to say what is wrong with it;
 * file, line and field are put in front by config_read. */
typedef bool config_fn(void *ctx, const char *section, const char *key, const char *value,
                       struct error *e);

/* Hand every line of a file of at most 256 KiB to fn; the first refused or malformed line ends it.
 * Comments begin with ; or #. */
bool config_read(const char *path, config_fn *fn, void *ctx, struct error *e) WARN_UNUSED;

#endif
