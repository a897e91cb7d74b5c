# Tests of the base library.
attnc_unit_test(base_mem SOURCES base_mem.c LIBS attnc_base)
attnc_unit_test(base_str SOURCES base_str.c LIBS attnc_base)
attnc_unit_test(base_diag SOURCES base_diag.c LIBS attnc_base)
