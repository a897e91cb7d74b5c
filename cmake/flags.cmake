# How every file of the project is compiled. `attnc_warnings` is for our own code; generated files
# (scanner, parser) leave it out and bring flags of their own.

# C11 without compiler extensions; POSIX 2008 is the only platform interface in use.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
add_compile_definitions(_POSIX_C_SOURCE=200809L)

add_library(attnc_warnings INTERFACE)
target_compile_options(attnc_warnings INTERFACE
    -Wall -Wextra -Wpedantic $<IF:$<C_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow> -Wstrict-prototypes -Wmissing-prototypes -Werror)

if(ATTNC_TORTURE)
    add_compile_definitions(ATTNC_TORTURE)
endif()

if(ATTNC_SANITIZE STREQUAL "address")
    set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(ATTNC_SANITIZE STREQUAL "thread")
    set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT ATTNC_SANITIZE STREQUAL "")
    message(FATAL_ERROR "ATTNC_SANITIZE is '${ATTNC_SANITIZE}'; it takes: address, thread or nothing")
endif()
if(sanitize)
    add_compile_options(${sanitize})
    add_link_options(${sanitize})
endif()
