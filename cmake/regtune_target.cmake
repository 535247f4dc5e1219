# regtune_target(TARGET kernel.cu ...
#                [CHECK | ANALYZE]
#                [ARCHITECTURES sm_80 sm_90 ...]
#                [OPTIONS ...]            of regtune check or analyze: --max-registers 128
#                [COMPILER_OPTIONS ...]   for NVRTC: -DTILE=16
#                [DEPENDS ...]            headers of the kernels, a baseline: what else makes it run again
#                [EXPORT header.h [KERNELS name ...] [CACHE file]])
#
# Has regtune look at the kernels before TARGET, which exists, is built. CHECK (the default) stops the build where a
# kernel spills or breaks a limit that OPTIONS name. ANALYZE writes <build folder>/regtune/<TARGET>/<kernel>.txt: every
# budget with its registers, spills and occupancy. Neither takes a GPU. Without ARCHITECTURES those of
# CMAKE_CUDA_ARCHITECTURES are taken, where they are numbers.
#
# EXPORT writes the header of tuned bounds, REGTUNE_BOUNDS_<kernel>, from the cache (CACHE, else as the program finds
# it), and puts its folder among TARGET's include folders. A relative name is taken in the build folder.
function(regtune_target target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK;ANALYZE" "EXPORT;CACHE"
    "ARCHITECTURES;OPTIONS;COMPILER_OPTIONS;DEPENDS;KERNELS")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  if(NOT TARGET ${target})
    message(FATAL_ERROR "regtune_target: there is no target ${target}; the first argument is the target to be checked")
  endif()
  if(NOT REGTUNE_PROGRAM)
    message(FATAL_ERROR "regtune_target: the program regtune was not found; install it (package regtune), "
      "or say where it is with -DREGTUNE_PROGRAM=FILE")
  endif()
  if(arg_CHECK AND arg_ANALYZE)
    message(FATAL_ERROR "regtune_target(${target}): CHECK or ANALYZE, not both; call it twice")
  endif()
  if(NOT sources AND NOT arg_EXPORT)
    message(FATAL_ERROR "regtune_target(${target}): name a kernel's source, or EXPORT and a header")
  endif()
  if(NOT arg_EXPORT AND (arg_KERNELS OR arg_CACHE))
    message(FATAL_ERROR "regtune_target(${target}): KERNELS and CACHE belong to EXPORT")
  endif()
  _regtune_architectures(architectures ${arg_ARCHITECTURES})

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/regtune/${target})
  file(MAKE_DIRECTORY ${folder})
  set(products "")
  foreach(source IN LISTS sources)
    get_filename_component(file ${source} ABSOLUTE)
    get_filename_component(name ${source} NAME_WE)
    set(command ${file} ${architectures} ${arg_OPTIONS})
    if(arg_COMPILER_OPTIONS)
      list(APPEND command -- ${arg_COMPILER_OPTIONS})
    endif()
    if(arg_ANALYZE)
      set(product ${folder}/${name}.txt)
      add_custom_command(OUTPUT ${product}
        COMMAND ${REGTUNE_PROGRAM} analyze --no-config ${command} > ${product}.part
        COMMAND ${CMAKE_COMMAND} -E rename ${product}.part ${product}
        DEPENDS ${file} ${REGTUNE_PROGRAM} ${arg_DEPENDS} COMMENT "regtune analyze ${source}" VERBATIM)
    else()
      set(product ${folder}/${name}.checked)
      add_custom_command(OUTPUT ${product}
        COMMAND ${REGTUNE_PROGRAM} check --no-config ${command}
        COMMAND ${CMAKE_COMMAND} -E touch ${product}
        DEPENDS ${file} ${REGTUNE_PROGRAM} ${arg_DEPENDS} COMMENT "regtune check ${source}" VERBATIM)
    endif()
    list(APPEND products ${product})
  endforeach()

  if(arg_EXPORT)
    get_filename_component(header ${arg_EXPORT} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
    get_filename_component(header_folder ${header} DIRECTORY)
    file(MAKE_DIRECTORY ${header_folder})
    set(cache "")
    if(arg_CACHE)
      get_filename_component(cache_file ${arg_CACHE} ABSOLUTE)
      set(cache --cache ${cache_file})
      list(APPEND arg_DEPENDS ${cache_file})
    endif()
    add_custom_command(OUTPUT ${header}
      COMMAND ${REGTUNE_PROGRAM} export --no-config ${arg_KERNELS} --format header -o ${header} ${cache}
      DEPENDS ${REGTUNE_PROGRAM} ${arg_DEPENDS} COMMENT "regtune export ${arg_EXPORT}" VERBATIM)
    target_include_directories(${target} PRIVATE ${header_folder})
    list(APPEND products ${header})
  endif()

  string(SHA1 products_hash "${products}")
  string(SUBSTRING ${products_hash} 0 8 products_hash)
  add_custom_target(${target}_regtune_${products_hash} DEPENDS ${products})
  add_dependencies(${target} ${target}_regtune_${products_hash})
endfunction()

# "--arch;sm_80,sm_90", from what is given, else from the project's own; empty: as the program decides.
function(_regtune_architectures variable)
  set(names ${ARGN})
  if(NOT names)
    foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
      string(REGEX REPLACE "-(real|virtual)$" "" number "${architecture}")
      if(number MATCHES "^[0-9]+[af]?$")
        list(APPEND names sm_${number})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES names)
  endif()
  if(names)
    string(REPLACE ";" "," names "${names}")
    set(names --arch ${names})
  endif()
  set(${variable} ${names} PARENT_SCOPE)
endfunction()
