# The libraries and tools that the compiler is built with, other than LLVM. Each with the oldest version
# that is known to do, and the Debian package that brings it where it is missing.
#
# Gives the targets PkgConfig::JANSSON, PkgConfig::LIBZIP, PkgConfig::UTF8PROC, PkgConfig::CHECK (only with
# ATTNC_TESTS) and Threads::Threads, and the functions of FindFLEX and FindBISON.

function(attnc_missing what package)
    message(FATAL_ERROR "${what} is missing.\n"
        "On Debian or Ubuntu: apt-get install ${package}\n"
        "(scripts/quickstart installs everything that is needed.)")
endfunction()

find_package(PkgConfig QUIET)
if(NOT PkgConfig_FOUND)
    attnc_missing("pkg-config" pkg-config)
endif()

# attnc_pkg(PREFIX module floor debian-package)
macro(attnc_pkg prefix module floor package)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL "${module}>=${floor}")
    if(NOT ${prefix}_FOUND)
        attnc_missing("The library ${module} (version ${floor} or newer)" ${package})
    endif()
endmacro()

attnc_pkg(JANSSON jansson 2.13 libjansson-dev)
attnc_pkg(LIBZIP libzip 1.7 libzip-dev)
attnc_pkg(UTF8PROC libutf8proc 2.5 libutf8proc-dev)
if(ATTNC_TESTS)
    attnc_pkg(CHECK check 0.15 check)
endif()

find_package(FLEX 2.6 QUIET)
if(NOT FLEX_FOUND)
    attnc_missing("flex (version 2.6 or newer)" flex)
endif()
find_package(BISON 3.8 QUIET)
if(NOT BISON_FOUND)
    attnc_missing("bison (version 3.8 or newer)" bison)
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
