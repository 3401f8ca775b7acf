# The runtime for WASM: the C API without training, as an ES module. `make wasm` builds it.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS cpp/base/*.cpp cpp/kernels/*.cpp cpp/lattice/*.cpp cpp/sums/*.cpp
     cpp/decode/*.cpp cpp/features/*.cpp cpp/model/*.cpp cpp/capi/*.cpp)
# What only training and the levels of x86 need.
list(FILTER sources EXCLUDE REGEX "/(base/pages|kernels/avx2|features/encode|sums/batch[a-z_]*)\\.cpp$")
set(wasm -msimd128 -fwasm-exceptions)
# What the standard library of older emscriptens lacks.
set(compat -include ${CMAKE_CURRENT_SOURCE_DIR}/wasm/compat.h)
# Every function of the header is exported.
file(READ cpp/capi/tagwright.h header)
string(REGEX MATCHALL "tw_[a-z0-9_]+\\(" names "${header}")
list(REMOVE_DUPLICATES names)
list(TRANSFORM names REPLACE "(.*)\\(" "_\\1")
list(JOIN names "," names)
add_executable(tagwright_wasm ${sources})
set_target_properties(tagwright_wasm PROPERTIES OUTPUT_NAME tagwright SUFFIX .mjs POSITION_INDEPENDENT_CODE OFF)
target_include_directories(tagwright_wasm PRIVATE cpp)
target_compile_definitions(tagwright_wasm PRIVATE "TAGWRIGHT_VERSION=\"${PROJECT_VERSION}\"")
list(REMOVE_ITEM flags -O3)
target_compile_options(tagwright_wasm PRIVATE ${flags} ${wasm} ${compat} -Os -fno-trapping-math -Wno-psabi)
# For size, but for the inner loops.
set_source_files_properties(cpp/kernels/base.cpp cpp/model/scorer.cpp PROPERTIES COMPILE_OPTIONS -O2)
target_link_options(tagwright_wasm PRIVATE ${wasm} -Os --no-entry -sMODULARIZE=1 -sEXPORT_ES6=1
                    -sENVIRONMENT=web,worker -sALLOW_MEMORY_GROWTH=1 -sFILESYSTEM=0 -sMALLOC=emmalloc
                    -sEXPORTED_RUNTIME_METHODS=HEAPU8,HEAPU32,HEAP32,HEAPF64,HEAPF32,UTF8ToString
                    -sEXPORTED_FUNCTIONS=_malloc,_free,${names})
