# Programs that were once compiled wrongly, each an entry: every route gives the same (see run).
file(GLOB programs CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/*.attn)
foreach(program IN LISTS programs)
    attnc_add_test(programs/${program} programs
        ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run ${CMAKE_CURRENT_LIST_DIR}/${program})
endforeach()
