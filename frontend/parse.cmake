# parse.cmake: the library attnc_syntax (scanner, grammar, tree, formatter). Included from the
# CMakeLists of this folder.
find_package(BISON 3.8 REQUIRED)
find_package(FLEX REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc>=2.5)

set(ATTNC_SYNTAX_DIR ${CMAKE_CURRENT_LIST_DIR})
set(ATTNC_SYNTAX_GEN ${CMAKE_CURRENT_BINARY_DIR}/syntax)
file(MAKE_DIRECTORY ${ATTNC_SYNTAX_GEN})

add_custom_command(
    OUTPUT ${ATTNC_SYNTAX_GEN}/parse.c ${ATTNC_SYNTAX_GEN}/parse.h
    COMMAND ${BISON_EXECUTABLE} -Wall -Wcounterexamples -Werror
            --header=${ATTNC_SYNTAX_GEN}/parse.h -o ${ATTNC_SYNTAX_GEN}/parse.c
            ${ATTNC_SYNTAX_DIR}/parse.y
    DEPENDS ${ATTNC_SYNTAX_DIR}/parse.y
    VERBATIM)
add_custom_command(
    OUTPUT ${ATTNC_SYNTAX_GEN}/scan.c
    COMMAND ${FLEX_EXECUTABLE} -o ${ATTNC_SYNTAX_GEN}/scan.c ${ATTNC_SYNTAX_DIR}/scan.l
    DEPENDS ${ATTNC_SYNTAX_DIR}/scan.l
    VERBATIM)

# Code that we did not write is not ours to warn about.
set(ATTNC_SYNTAX_RELAXED -Wno-unused-parameter -Wno-unused-function -Wno-sign-compare
    -Wno-conversion -Wno-shadow -Wno-unused-but-set-variable)
set_source_files_properties(${ATTNC_SYNTAX_GEN}/parse.c ${ATTNC_SYNTAX_GEN}/scan.c PROPERTIES
    COMPILE_OPTIONS "${ATTNC_SYNTAX_RELAXED}")

add_library(attnc_syntax STATIC
    ${ATTNC_SYNTAX_GEN}/parse.c
    ${ATTNC_SYNTAX_GEN}/parse.h
    ${ATTNC_SYNTAX_GEN}/scan.c
    ${ATTNC_SYNTAX_DIR}/ast.c
    ${ATTNC_SYNTAX_DIR}/format.c
    ${ATTNC_SYNTAX_DIR}/format_layout.c
    ${ATTNC_SYNTAX_DIR}/format_text.c
    ${ATTNC_SYNTAX_DIR}/parse_build.c
    ${ATTNC_SYNTAX_DIR}/parse_lex.c
    ${ATTNC_SYNTAX_DIR}/parse_report.c
    ${ATTNC_SYNTAX_DIR}/parse_text.c)
target_include_directories(attnc_syntax PRIVATE ${ATTNC_SYNTAX_GEN})
target_link_libraries(attnc_syntax PUBLIC attnc_base PRIVATE PkgConfig::UTF8PROC)
if(TARGET attnc_warnings)
    target_link_libraries(attnc_syntax PRIVATE attnc_warnings)
endif()
