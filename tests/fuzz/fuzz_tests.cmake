# Random and hostile programs (program_gen.py, program_forms.py, hostile.py), and the checker's fuzzing corpus,
# replayed. The fuzzers themselves need clang:
#
#     cmake -B build-fuzz -DCMAKE_C_COMPILER=clang-19 -DATTNC_FUZZ=ON && build-fuzz/tests/check_fuzz corpus
attnc_add_test(fuzz.programs fuzz ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/program_gen.py
    --attnc $<TARGET_FILE:attnc> --seed 1 --count 60 -j2)
attnc_add_test(fuzz.forms fuzz ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/program_forms.py
    --attnc $<TARGET_FILE:attnc> --seed 1 --count 20 --reduce 0 -j2)
attnc_add_test(fuzz.hostile fuzz ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/hostile.py
    --attnc $<TARGET_FILE:attnc>)
set_tests_properties(fuzz.hostile PROPERTIES RUN_SERIAL ON)

add_executable(check_fuzz_replay ${CMAKE_CURRENT_LIST_DIR}/check_fuzz.c)
target_compile_definitions(check_fuzz_replay PRIVATE ATTNC_FUZZ_REPLAY)
target_link_libraries(check_fuzz_replay PRIVATE attnc_frontend attnc_passes attnc_ir attnc_base)
if(TARGET attnc_warnings)
    target_link_libraries(check_fuzz_replay PRIVATE attnc_warnings)
endif()
attnc_add_test(fuzz.check_replay fuzz check_fuzz_replay ${CMAKE_CURRENT_LIST_DIR}/check_corpus
    ${PROJECT_SOURCE_DIR}/examples)

option(ATTNC_FUZZ "Build the checker's fuzzer (clang only)" OFF)
if(ATTNC_FUZZ)
    add_executable(check_fuzz ${CMAKE_CURRENT_LIST_DIR}/check_fuzz.c)
    target_compile_options(check_fuzz PRIVATE -fsanitize=fuzzer)
    target_link_options(check_fuzz PRIVATE -fsanitize=fuzzer)
    target_link_libraries(check_fuzz PRIVATE attnc_frontend attnc_passes attnc_ir attnc_base)
endif()
