// SPDX-License-Identifier: MIT
// The receiving side of all calls: one indirect call a record.
#include <cstring>
#include <exception>

#include "calls/call_tables.hpp"
#include "dsfabric/call_context.hpp"
#include "dsfabric/detail/call_record.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "dsfabric/fabric.hpp"

namespace dsfabric {

bool run_records(std::span<std::byte> bytes, CallContext& context) {
  return run_records(bytes, context, detail::FunctionTable::instance().entries());
}

bool run_records(std::span<std::byte> bytes, CallContext& context,
                 std::span<const detail::FunctionTable::Entry> functions) {
  std::byte* at = bytes.data();
  std::byte* const end = at + bytes.size();
  while (at != end) {
    detail::RecordHeader header;
    if (static_cast<std::size_t>(end - at) < sizeof header) return false;
    std::memcpy(&header, at, sizeof header);
    const auto left = static_cast<std::size_t>(end - at) - sizeof header;
    if (header.function >= functions.size() || header.bytes > left) return false;
    const detail::FunctionTable::Entry& entry = functions[header.function];
    if (header.bytes < entry.bytes) return false;
    std::byte* payload = at + sizeof header;
    const std::size_t step = detail::record_size(header.bytes);
    at = step < left + sizeof header ? at + step : end;
    try {
      entry.invoke(payload, header.bytes, context);
    } catch (...) {
      context.fabric.report_exception(context, std::current_exception());
    }
  }
  return true;
}

}  // namespace dsfabric
