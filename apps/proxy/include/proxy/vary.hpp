// SPDX-License-Identifier: MIT
// Keys of stored responses, and of their variants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/message.hpp"

namespace proxy {

/// The host of a request or a URI without a port that http has anyway (RFC 9110, section 4.2.3).
std::string_view without_default_port(std::string_view host) noexcept;

/// The key of what a request names: its host in lower case, without that port, and its path. No two
/// targets share one, since a host has no slash. Replaces what is in `key`.
void make_key(const Request& request, std::string& key);

/// The key of what a reference names in a response to the request with that key (RFC 3986, section
/// 4.2, without dot segments); empty when that is at another host, which is not ours to speak of.
std::string key_of_reference(std::string_view reference, std::string_view key);

/// The names of Vary in lower case, sorted, each once, with commas between; empty without Vary; "*"
/// when a response varies by more than fields.
std::string vary_names(const Fields& response);

/// The key of the variant that this request selects (RFC 9111, section 4.1): the key, a number that
/// is another one each time that variants are forgotten, and the values of the named fields.
std::string variant_key(std::string_view key, std::uint64_t generation, std::string_view names,
                        const Fields& request);

}  // namespace proxy
