// SPDX-License-Identifier: MIT
// The functions of libpmix, found at run time, so that programs start where it is not installed.
#pragma once

#include <pmix.h>

namespace dsfabric {

/// One member for each function that the bootstrap calls; names and contracts are those of PMIx 4.
struct PmixLibrary {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Register_event_handler) register_event_handler;
  decltype(&PMIx_Error_string) error_string;
  decltype(&PMIx_Value_destruct) value_destruct;
  decltype(&PMIx_Info_load) info_load;
};

/// Opens libpmix.so.2, which then stays open. Throws Error when it is not there, or lacks a
/// function. Setup only.
PmixLibrary load_pmix();

}  // namespace dsfabric
