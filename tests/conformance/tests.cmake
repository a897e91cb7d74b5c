# Recorded cases of other projects, as programs made by rule (see run): conformance.own the few that the
# repository holds (cases/), conformance.more folders of further ones
# (-D ATTNC_CONFORMANCE_DIR="DIR;DIR", skipped where there is none).
set(ATTNC_CONFORMANCE_DIR "" CACHE STRING "Folders of further cases, for the test conformance.more")

set(conformance_run ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run -j2
    --attnc $<TARGET_FILE:attnc>)
attnc_add_test(conformance.own golden ${conformance_run} --routes jit,interp
    ${CMAKE_CURRENT_LIST_DIR}/cases)
attnc_add_test(conformance.more golden ${conformance_run} -q --if-present ${ATTNC_CONFORMANCE_DIR})
set_tests_properties(conformance.more PROPERTIES TIMEOUT 3600)
