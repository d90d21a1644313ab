/* What must hold of every run's log, however often its engine died. */
#ifndef WARPLOOP_TESTS_SUPPORT_INVARIANTS_H
#define WARPLOOP_TESTS_SUPPORT_INVARIANTS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/log/log.h"

/* Read the whole log and check:
 *  - seqs without a gap from 1, times never going back, RUN_CREATED first and once;
 *  - effects: numbers given once and upwards; each EFFECT_DONE or INTERRUPTED closes one earlier
 *    EFFECT that is still open; none begins while the run is paused or has ended;
 *  - versions dense from 0, a parent before its child, every source there and whole;
 *  - TRY: only of a version; one that claims a measured verdict, or carries a number, only after
 * the version's bench is done (or, for `same`, with the number of a version with the same plan);
 * one that says `build` only after its build is done;
 *  - RECORD: only after a TRY of that version that says ok, with the same number;
 *  - calls dense from 1, each closed at most once and after it began;
 *  - steers dense from 1, each seen at most once and after it came;
 *  - goals dense from 1; engine numbers upwards, at a start nothing of the engine before is in
 *    flight any more unless it is marked afterwards, before anything else begins. */
bool log_check_invariants(struct log *log, struct error *e) WARN_UNUSED;

#endif
