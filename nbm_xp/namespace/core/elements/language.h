/* What one element needs of its language: C for processors, CUDA for devices. Only these lines differ. */
#ifndef NBM_LANGUAGE_H
#define NBM_LANGUAGE_H

typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#ifdef __CUDACC__
#define ELEMENT __device__ __forceinline__
#define TABLE __attribute__((unused)) static __device__ const
#define magnitude_of(x) fabs(x)
#define floor_of(x) floor(x)
#define nearest_of(x) rint(x)
#define root_of(x) sqrt(x)
#define rootf_of(x) sqrtf(x)
ELEMENT i64 bits_of(double x) { return __double_as_longlong(x); }
ELEMENT double double_of(i64 bits) { return __longlong_as_double(bits); }
ELEMENT i32 bitsf_of(float x) { return __float_as_int(x); }
ELEMENT float float_of(i32 bits) { return __int_as_float(bits); }
#else
#define TABLE static const
#if defined(__GNUC__) || defined(__clang__)
#define ELEMENT static inline __attribute__((always_inline, unused))
#define magnitude_of(x) __builtin_fabs(x)
#define floor_of(x) __builtin_floor(x)
#define nearest_of(x) __builtin_rint(x)
#define root_of(x) __builtin_sqrt(x)
#define rootf_of(x) __builtin_sqrtf(x)
#define fetch_ahead(p) __builtin_prefetch(p)
#else
#include <math.h>
#define ELEMENT static inline
#define magnitude_of(x) fabs(x)
#define floor_of(x) floor(x)
#define nearest_of(x) rint(x)
#define root_of(x) sqrt(x)
#define rootf_of(x) sqrtf(x)
#define fetch_ahead(p) ((void)(p))
#endif
#include <string.h>
/* memcpy is how C reads the bits of a number; compilers make a move of registers of it */
ELEMENT i64 bits_of(double x) { i64 bits; memcpy(&bits, &x, sizeof bits); return bits; }
ELEMENT double double_of(i64 bits) { double x; memcpy(&x, &bits, sizeof x); return x; }
ELEMENT i32 bitsf_of(float x) { i32 bits; memcpy(&bits, &x, sizeof bits); return bits; }
ELEMENT float float_of(i32 bits) { float x; memcpy(&x, &bits, sizeof x); return x; }
#endif

#endif
