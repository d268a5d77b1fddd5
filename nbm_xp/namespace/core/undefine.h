/* Ends a type for which loops were written out. */
#undef REAL
#undef OWN
#undef NAMED
#undef UNIFORM
#undef ROOT
#undef EXP
#undef WHOLE
