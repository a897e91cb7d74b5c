# Unit test of the counting of work. attnc_unit_test is the caller's.
attnc_unit_test(cost SOURCES cost.c graph_support.c LIBS attnc_passes)
