# Texts inside the program, so that an installed compiler needs no files beside it.
#
#     attnc_embed(out.c HEADER frontend/std_table.h TYPE "struct std_file" TABLE std_files COUNT n_std_files
#                 FILES a.attn b.attn)
#
# writes a C file that defines `const TYPE TABLE[]`, an array of {file name, text, size}, and
# `const size_t COUNT`, both declared in HEADER. The same file, run as a script, does the writing.

if(CMAKE_SCRIPT_MODE_FILE)
    set(rows "")
    set(n 0)
    set(body "")
    foreach(path IN LISTS FILES)
        file(READ "${path}" hex HEX)
        string(LENGTH "${hex}" digits)
        math(EXPR size "${digits} / 2")
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
        # 16 bytes a line
        string(REGEX REPLACE "(................................................................................)"
            "\\1\n    " bytes "${bytes}")
        get_filename_component(name "${path}" NAME)
        # char may be signed: the bytes go through an unsigned array and are read as text.
        string(APPEND body "static const unsigned char text_${n}[] = {\n    ${bytes}0x00};\n")
        string(APPEND rows "    {\"${name}\", (const char *)text_${n}, ${size}},\n")
        math(EXPR n "${n} + 1")
    endforeach()
    if(n EQUAL 0)
        set(rows "    {0, 0, 0},\n") # C has no empty arrays; the count says 0
    endif()
    file(WRITE "${OUT}"
        "/* Made by cmake/embed.cmake. */\n#include \"${HEADER}\"\n\n${body}\n"
        "const ${TYPE} ${TABLE}[] = {\n${rows}};\nconst size_t ${COUNT} = ${n};\n")
    return()
endif()

set(ATTNC_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(attnc_embed out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;TYPE;TABLE;COUNT" "FILES")
    # A list inside -D is one argument of the script.
    add_custom_command(
        OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} "-DOUT=${out}" "-DHEADER=${arg_HEADER}" "-DTYPE=${arg_TYPE}"
                "-DTABLE=${arg_TABLE}" "-DCOUNT=${arg_COUNT}" "-DFILES=${arg_FILES}"
                -P ${ATTNC_EMBED_SCRIPT}
        DEPENDS ${arg_FILES} ${ATTNC_EMBED_SCRIPT}
        COMMENT "Embedding ${arg_TABLE}"
        VERBATIM)
endfunction()
