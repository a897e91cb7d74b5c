# Unit tests of runtime/. attnc_unit_test(NAME SOURCES files LIBS libraries) is the caller's.

attnc_unit_test(runtime_abi SOURCES runtime_abi.c LIBS attn_runtime)
attnc_unit_test(runtime_solve SOURCES runtime_solve.c LIBS attn_runtime)
attnc_unit_test(runtime_pool SOURCES runtime_pool.c LIBS attn_runtime)
attnc_unit_test(io_convert SOURCES io_convert.c LIBS attn_io)
attnc_unit_test(io_npy SOURCES io_npy.c io_support.c LIBS attn_io)
attnc_unit_test(io_npz SOURCES io_npz.c io_support.c LIBS attn_io PkgConfig::LIBZIP)
attnc_unit_test(io_safetensors SOURCES io_safetensors.c io_support.c
                LIBS attn_io PkgConfig::JANSSON)

# The files that fuzzing found worth keeping, replayed.
add_executable(io_fuzz_replay ${CMAKE_CURRENT_LIST_DIR}/../fuzz/io_fuzz.c)
target_compile_definitions(io_fuzz_replay PRIVATE ATTN_FUZZ_REPLAY)
target_link_libraries(io_fuzz_replay PRIVATE attn_io attnc_warnings)
add_test(NAME io_fuzz_replay
         COMMAND io_fuzz_replay ${CMAKE_CURRENT_LIST_DIR}/../fuzz/io_corpus)
