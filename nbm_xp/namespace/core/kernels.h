/* What module.c knows of kernels. */
#ifndef NBM_KERNELS_H
#define NBM_KERNELS_H

#include "elements/language.h"

typedef union {
    struct {
        void *data;
        i64 size; /* elements */
    };
    i64 integer;
} Argument;

/* `takes` has a letter for each argument: n for an integer, else what an array holds: b bytes, h 2 bytes, i 4, l 8,
   f float32, d float64; capital letters are written to. A last letter w stands for a room, which the caller does not
   give: memory to work in, of ROOM bytes, aligned as malloc aligns. */
typedef struct {
    const char *name, *takes;
    i64 (*run)(const Argument *);
} Kernel;

#define MOST_ARGUMENTS 24
#define ROOM (1 << 20)

/* One table for each level of a processor's vector instructions, ended by a kernel without a name. */
extern const Kernel kernels_portable[], kernels_v2[], kernels_v3[], kernels_v4[];

#endif
