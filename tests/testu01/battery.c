/* A battery of TestU01 on numbers that come through standard input: float64, between 0 and 1, one after the other. */
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
    if (count != 3 && count != 4) {
        fprintf(stderr, "battery: give smallcrush, crush or bigcrush, a name for the numbers, and one test's number\n");
        return 2;
    }
    const int which = !strcmp(arguments[1], "smallcrush") ? 0
                      : !strcmp(arguments[1], "crush")    ? 1
                      : !strcmp(arguments[1], "bigcrush") ? 2
                                                          : -1;
    if (which < 0) {
        fprintf(stderr, "battery: there is no %s\n", arguments[1]);
        return 2;
    }
    void (*whole[])(unif01_Gen *) = {bbattery_SmallCrush, bbattery_Crush, bbattery_BigCrush};
    void (*parts[])(unif01_Gen *, int *) = {bbattery_RepeatSmallCrush, bbattery_RepeatCrush, bbattery_RepeatBigCrush};
    int repetitions[1 + 160] = {0}; /* of each test; no battery has more */
    if (count == 4) {
        int test = atoi(arguments[3]);
        if (test < 1 || test > 160) {
            fprintf(stderr, "battery: there is no test %s\n", arguments[3]);
            return 2;
        }
        repetitions[test] = 1;
    }
    swrite_Basic = FALSE;
    unif01_Gen *generator = unif01_CreateExternGen01(arguments[2], next_number);
    if (count == 4)
        parts[which](generator, repetitions);
    else
        whole[which](generator);
    unif01_DeleteExternGen01(generator);
    /* what a reader by machine needs: every p-value, with the test's name */
    printf("numbers taken: %llu\n", taken);
    for (int i = 0; i < bbattery_NTests; ++i)
        printf("p-value\t%.6g\t%s\n", bbattery_pVal[i], bbattery_TestNames[i]);
    return 0;
}
