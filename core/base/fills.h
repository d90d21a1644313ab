/* The input generators that a task.json may name, one row each: X(ID, "name"). What each means,
 * and its parameters, stands in gpu/c/inputs.h, which carries them out. */
#ifndef WARPLOOP_BASE_FILLS_H
#define WARPLOOP_BASE_FILLS_H

#define FILL_DISTS(X)                                                                              \
    X(NORMAL, "normal")                                                                            \
    X(UNIFORM, "uniform")                                                                          \
    X(CONSTANT, "constant")                                                                        \
    X(CHOICE, "choice")                                                                            \
    X(LOGSIGMOID, "logsigmoid")                                                                    \
    X(LOWER_BOUND, "lower_bound")                                                                  \
    X(ARANGE, "arange")

/* Modifiers, applied after the distribution in this order. */
#define FILL_MODIFIERS(X)                                                                          \
    X(ZERO_FRACTION, "zero_fraction")                                                              \
    X(UNIT, "unit")                                                                                \
    X(SCALE, "scale")                                                                              \
    X(SPIKE, "spike")                                                                              \
    X(REPEAT_ROWS, "repeat_rows")

#endif
