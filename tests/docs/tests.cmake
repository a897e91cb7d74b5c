# What the documents show, against the compiler.
foreach(document README.md examples/README.md frontend/LANGUAGE.md)
    attnc_add_test(docs/${document} docs ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/docs/check.py
        ${PROJECT_SOURCE_DIR}/${document})
endforeach()
