/* A pair of normal numbers of a pair of uniforms, by Box and Muller; ROOT is the square root of a REAL. */
#ifndef NBM_POLAR_CUH
#define NBM_POLAR_CUH

#include "../elements/elementary.h"

/* times line[0] plus line[1], if there is a line */
ELEMENT void polar(REAL u1, REAL u2, const REAL *line, REAL *first, REAL *second) {
    REAL radius = ROOT((REAL)-2.0 * (REAL)log_of((double)u1));
    double cosine, sine;
    waves((double)(REAL)(u2 * (REAL)TWO_PI), &cosine, &sine);
    *first = radius * (REAL)cosine, *second = radius * (REAL)sine;
    if (line)
        *first = *first * line[0] + line[1], *second = *second * line[0] + line[1];
}

#endif
