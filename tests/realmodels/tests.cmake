# Real trained models with other engines' records, -D ATTNC_REALMODELS_DIR=... (skipped where there is none).
set(ATTNC_REALMODELS_DIR "" CACHE PATH "Folder of real models and their records, for the test realmodels")

attnc_add_test(realmodels golden ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run
    --attnc $<TARGET_FILE:attnc> --host $<TARGET_FILE:golden_aot_host> --cc ${CMAKE_C_COMPILER} "${ATTNC_REALMODELS_DIR}")
set_tests_properties(realmodels PROPERTIES TIMEOUT 1800)
