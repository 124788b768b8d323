// SPDX-License-Identifier: MIT
// Finds the functions of libpmix.
#if defined(CARIAMA_WITH_PMIX)

#include "bootstrap/pmix_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

constexpr const char* kFile = "libpmix.so.2";

[[noreturn]] void refuse() {
  const char* const reason = dlerror();
  throw dtutils::Error(kFile,
                       fmt::format("a PMIx launcher started this process, but its library cannot "
                                   "be used: {}",
                                   reason != nullptr ? reason : "no reason given"),
                       "install libpmix2, or start the program by cariama-run (scripts/run)");
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) refuse();
}

}  // namespace

PmixLibrary load_pmix() {
  // Never closed: it has threads of its own.
  void* const library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) refuse();
  PmixLibrary pmix;
  find(library, "PMIx_Init", pmix.init);
  find(library, "PMIx_Finalize", pmix.finalize);
  find(library, "PMIx_Get", pmix.get);
  find(library, "PMIx_Put", pmix.put);
  find(library, "PMIx_Commit", pmix.commit);
  find(library, "PMIx_Fence", pmix.fence);
  find(library, "PMIx_Register_event_handler", pmix.register_event_handler);
  find(library, "PMIx_Error_string", pmix.error_string);
  find(library, "PMIx_Value_destruct", pmix.value_destruct);
  find(library, "PMIx_Info_load", pmix.info_load);
  return pmix;
}

}  // namespace dsfabric

#endif
