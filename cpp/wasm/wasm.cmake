# The runtime for WASM: the C API without training, as an ES module. `make wasm` builds it.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS cpp/base/*.cpp cpp/kernels/*.cpp cpp/lattice/*.cpp cpp/sums/*.cpp
     cpp/decode/*.cpp cpp/features/*.cpp cpp/model/*.cpp cpp/capi/*.cpp cpp/wasm/*.cpp)
# What only training and the levels of x86 need.
list(FILTER sources EXCLUDE REGEX "/(base/pages|kernels/avx2|features/encode|sums/batch[a-z_]*)\\.cpp$")
set(wasm -msimd128 -fwasm-exceptions)
add_executable(tagwright_wasm ${sources})
set_target_properties(tagwright_wasm PROPERTIES OUTPUT_NAME tagwright SUFFIX .mjs POSITION_INDEPENDENT_CODE OFF)
target_include_directories(tagwright_wasm PRIVATE cpp)
target_compile_definitions(tagwright_wasm PRIVATE "TAGWRIGHT_VERSION=\"${PROJECT_VERSION}\"")
list(REMOVE_ITEM flags -O3)
target_compile_options(tagwright_wasm PRIVATE ${flags} ${wasm} -O2 -fno-trapping-math -Wno-psabi)
target_link_options(tagwright_wasm PRIVATE ${wasm} -O2 --no-entry -sMODULARIZE=1 -sEXPORT_ES6=1
                    -sENVIRONMENT=web,worker,node -sALLOW_MEMORY_GROWTH=1 -sFILESYSTEM=0 -sMALLOC=emmalloc
                    -sEXPORTED_RUNTIME_METHODS=HEAPU8,HEAPU32,HEAP32,HEAPF64,HEAPF32,UTF8ToString
                    -sEXPORTED_FUNCTIONS=_malloc,_free)
