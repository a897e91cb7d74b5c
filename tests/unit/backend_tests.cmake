# The backend's tests.
attnc_unit_test(backend_math SOURCES backend_math.c backend_support.c LIBS attnc_backend)
attnc_unit_test(backend_memory SOURCES backend_memory.c backend_support.c LIBS attnc_backend)
attnc_unit_test(backend_files SOURCES backend_files.c backend_support.c LIBS attnc_backend)
attnc_unit_test(backend_entry SOURCES backend_entry.c backend_support.c LIBS attnc_backend)
attnc_unit_test(backend_ops SOURCES backend_ops.c backend_support.c LIBS attnc_backend)
attnc_unit_test(backend_vector SOURCES backend_vector.c backend_support.c LIBS attnc_backend)
attnc_unit_test(backend_tile SOURCES backend_tile.c backend_support.c LIBS attnc_backend)
attnc_unit_test(backend_parallel SOURCES backend_parallel.c backend_support.c LIBS attnc_backend attn_runtime)
