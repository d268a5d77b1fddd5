/* One test of a battery of TestU01 on numbers that come through standard input: float64, between 0 and 1, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <testu01/bbattery.h>
#include <testu01/swrite.h>
#include <testu01/unif01.h>

#define HELD 65536

static double held[HELD];
static size_t place = HELD;
static unsigned long long taken = 0;

static double next_number(void) {
    if (place == HELD) {
        if (fread(held, sizeof(double), HELD, stdin) != HELD) {
            fprintf(stderr, "battery: the numbers came to an end\n");
            exit(3);
        }
        place = 0;
        taken += HELD;
    }
    return held[place++];
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "battery: give smallcrush, crush or bigcrush, and one test's number\n");
        return 2;
    }
    void (*repeat)(unif01_Gen *, int *) = !strcmp(arguments[1], "smallcrush") ? bbattery_RepeatSmallCrush
                                          : !strcmp(arguments[1], "crush")    ? bbattery_RepeatCrush
                                                                              : bbattery_RepeatBigCrush;
    int repetitions[1 + 160] = {0}; /* of each test; no battery has more */
    repetitions[atoi(arguments[2])] = 1;
    swrite_Basic = FALSE;
    unif01_Gen *generator = unif01_CreateExternGen01("MRG31k3p", next_number);
    repeat(generator, repetitions);
    unif01_DeleteExternGen01(generator);
    /* what a reader by machine needs: every p-value, with the test's name */
    printf("numbers\t%llu\n", taken);
    for (int i = 0; i < bbattery_NTests; ++i)
        printf("p-value\t%.12g\t%s\n", bbattery_pVal[i], bbattery_TestNames[i]);
    return 0;
}
