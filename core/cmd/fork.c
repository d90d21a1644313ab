/* warploop fork: a new run that begins where another stood. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/cmd/cmd.h"
#include "core/cmd/json_out.h"
#include "core/cmd/requests.h"
#include "core/cmd/view.h"

static bool print_made(const char *name, struct error *e)
{
    struct run_view v;
    if (!run_view_open(name, &v, e)) {
        return false;
    }
    print_json(json_run(&v));
    run_view_close(&v);
    return true;
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    const char *spec = args_pos(a, 0);
    const char *at = spec ? strrchr(spec, '@') : NULL;
    char *name = spec ? xstrndup(spec, at ? (size_t)(at - spec) : strlen(spec)) : NULL;
    bool ok = run_view_open(name && *name ? name : NULL, &v, &e);
    free(name);
    if (!ok) {
        return cmd_fail(&e);
    }
    int64_t version = -1;
    char *made = NULL;
    ok = (!at || version_parse(v.s, at + 1, &version, &e)) &&
         requests_fork(v.path, version, &made, &e);
    if (ok && args_flag(a, "json")) {
        ok = print_made(made, &e);
    } else if (ok) {
        struct buf b = {0};
        buf_addf(&b, "%s was made from %s", made, v.name);
        if (version >= 0) {
            buf_addf(&b, " as it was after v%lld", (long long)version);
        }
        buf_addf(&b, "; %s is untouched\ngo on with it: warploop resume %s\n", v.name, made);
        cmd_print(&b);
    }
    free(made);
    run_view_close(&v);
    return ok ? EXIT_DONE : cmd_fail(&e);
}

static const struct option_desc options[] = {JSON_OPTION("one object: the new run, as in ls"), {0}};

const struct cmd cmd_fork = {
    .name = "fork",
    .usage = "[RUN[@VERSION]]",
    .summary = "a new run from where another stands, or stood",
    .options = options,
    .details = "The new run has the parent's past up to and with VERSION (a number, start, best or "
               "last; left\n"
               "out: all of it). The parent is not changed, and may be deleted.",
    .run = run,
};
