#include "core/cmd/requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cmd/ask.h"
#include "core/log/log.h"
#include "core/log/runs.h"
#include "core/loop/engine.h"

bool requests_fork(const char *path, int64_t version, char **name, struct error *e)
{
    char *made = NULL;
    if (!engine_fork(path, version, &made, e)) {
        return false;
    }
    *name = runs_name(made);
    free(made);
    return true;
}

static bool fork_here(const char *path, const char *version, struct error *e)
{
    int64_t id = -1;
    char *name = NULL;
    if (*version && !parse_whole(version, &id)) {
        return error_set(e, ERR_INPUT, "fork: expected a version's number, not \"%.40s\"", version);
    }
    if (!requests_fork(path, id, &name, e)) {
        return false;
    }
    if (e) {
        snprintf(e->msg, sizeof e->msg, "%s was made; go on with it: warploop resume %s", name,
                 name);
    }
    free(name);
    return true;
}

bool requests_from_workbench(void *ctx, const char *kind, const char *text, struct error *e)
{
    const char *path = ctx;
    if (strcmp(kind, "fork") == 0) {
        return fork_here(path, text, e);
    }
    char *author = ask_author();
    char *request = NULL;
    if (strcmp(kind, "goal") == 0) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "text", text);
        request = json_text(o);
        cJSON_Delete(o);
    }
    bool ok = inbox_put(path, author, kind, request ? request : text, e);
    free(request);
    free(author);
    return ok;
}
