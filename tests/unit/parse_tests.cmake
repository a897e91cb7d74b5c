# Tests of scanner, grammar and formatter.
attnc_unit_test(parse_grammar SOURCES parse_grammar.c LIBS attnc_syntax)
attnc_unit_test(parse_errors SOURCES parse_errors.c LIBS attnc_syntax)
attnc_unit_test(parse_format SOURCES parse_format.c LIBS attnc_syntax)
attnc_unit_test(parse_hostile SOURCES parse_hostile.c LIBS attnc_syntax)
target_compile_definitions(test_parse_grammar PRIVATE PARSE_FOLDER="${PROJECT_SOURCE_DIR}/tests/parse")

# The files that fuzzing found worth keeping, replayed.
add_executable(parse_fuzz_replay ${CMAKE_CURRENT_LIST_DIR}/../fuzz/parse_fuzz.c)
target_compile_definitions(parse_fuzz_replay PRIVATE ATTNC_FUZZ_REPLAY)
target_link_libraries(parse_fuzz_replay PRIVATE attnc_syntax)
add_test(NAME parse_fuzz_replay COMMAND parse_fuzz_replay
         ${CMAKE_CURRENT_LIST_DIR}/../fuzz/parse_corpus ${CMAKE_CURRENT_LIST_DIR}/../parse)
