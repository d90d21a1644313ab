/* Parts of the tuner that its files share; not for others. */
#ifndef WARPLOOP_LOOP_TUNER_PRIVATE_H
#define WARPLOOP_LOOP_TUNER_PRIVATE_H

#include "core/loop/tuner.h"

/* A version of the run whose configuration is known. */
struct observation {
    struct config c;
    int64_t version, against;
    double value; /* log of the speedup against the baseline, NaN when not known */
    double gain;  /* log of the gain against version `against`, NaN */
    bool failed;  /* does not build, is wrong, faults ... */
    bool exact;   /* timed in full (ok), not cut short */
    bool open;    /* in flight */
};

/* Two versions that differ in one move, or in the value of one tunable. */
struct pair {
    size_t a, b; /* observations: from and to (for a move: off and on) */
    bool value;
    size_t which; /* the move or tunable */
    double gain;  /* of b over a, log */
};

struct tuner {
    const struct task *t;
    const struct run_state *s;
    struct observation *o; /* owned */
    size_t n;
    struct pair *pairs; /* owned */
    size_t npairs, cap_pairs;
    struct observation base; /* what is built upon: the incumbent, as far as its config is known */
    struct observation second; /* the best with other moves; version -1: none */
    struct observation start;  /* nothing on; version -1: not known */
    double best;               /* log speedup of the incumbent, NaN */
    bool open;                 /* anything is in flight */
};

enum change { CHANGE_ADD, CHANGE_DROP, CHANGE_TUNE, CHANGE_PAIR, CHANGE_TUNE_PAIR, CHANGE_MODEL };

/* When a candidate's turn comes. */
enum phase {
    PHASE_MOVES,      /* single moves that should gain */
    PHASE_TUNE,       /* neighbouring values of tunables */
    PHASE_REST_MOVES, /* the other single moves, none proven dead here */
    PHASE_REST_TUNE,  /* the other values */
    PHASE_PAIRS,      /* two changes at once */
    PHASE_SECOND,     /* the neighbours of the second best */
    PHASE_MODEL,      /* what all measurements together suggest */
    PHASE_NONE,
};

struct candidate {
    struct config c;
    const struct observation *from; /* borrowed from the tuner */
    enum change change;
    size_t a, b;      /* the move or tunable, and the second one of a pair */
    double gain;      /* predicted log gain over the configuration that it is derived from */
    double over_best; /* and over the incumbent */
    double spread;    /* of the prediction, log; 0 not known */
    enum phase phase;
};

#define COMBINATION "combination" /* strategy of what the model proposes */

/* What is known of one change: the tries that differ in it alone. */
struct effect_evidence {
    double gain;         /* estimate for the given base, log */
    size_t n;            /* measured pairs */
    double nearest;      /* measured on the most similar base, NaN none */
    int distance;        /* moves in which that base differs from this one; -1 none */
    int64_t version, on; /* the try and what it is compared with */
    bool failed;
};

/* Fills the pairs from the observations. */
void tuner_compare(struct tuner *u);
/* Effect of switching a move on, for a base with these moves. */
struct effect_evidence tuner_move_effect(const struct tuner *u, size_t move, uint64_t moves);
/* Effect of a tunable going from one value to another on a base. */
struct effect_evidence tuner_value_effect(const struct tuner *u, size_t tunable, int64_t from,
                                          int64_t to, const struct config *base);
/* The change of moves from one set to another: sum over single moves. */
double tuner_moves_gain(const struct tuner *u, uint64_t from, uint64_t to);

/* The best untried candidate; phase PHASE_NONE when there is none. */
struct candidate tuner_best(const struct tuner *u);
/* Moves further off, by the model of all measurements. */
struct candidate tuner_combination(const struct tuner *u);
bool tuner_tried(const struct tuner *u, const struct config *c);

char *tuner_strategy(const struct tuner *u, const struct candidate *k);   /* caller frees */
char *tuner_hypothesis(const struct tuner *u, const struct candidate *k); /* caller frees */

#endif
