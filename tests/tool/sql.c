/* Does something to a SQLite file behind warploop's back, for the shell tests.
 *
 * usage: sql FILE STATEMENTS [SECONDS]
 * Carries the statements out, says "done", and keeps the file open (with the locks that it then
 * has) for so long. Exit status 1: SQLite refused. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    char *why = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: sql FILE STATEMENTS [SECONDS]\n");
        return 2;
    }
    if (sqlite3_open(argv[1], &db) != SQLITE_OK ||
        sqlite3_exec(db, argv[2], NULL, NULL, &why) != SQLITE_OK) {
        fprintf(stderr, "sql: %s\n", why ? why : sqlite3_errmsg(db));
        return 1;
    }
    puts("done");
    fflush(stdout);
    if (argc > 3) {
        clock_sleep_ns((int64_t)(atof(argv[3]) * 1e9));
    }
    sqlite3_close(db);
    return 0;
}
