// SPDX-License-Identifier: MIT
// Writes and checks the bytes of documents.
#include "proxy/document.hpp"

#include <cstring>

#include "proxy/http_date.hpp"
#include "proxy/text.hpp"

namespace proxy {
namespace {

/// The value of the first field line of that name.
std::string_view value_of(std::string_view fields, std::string_view name) noexcept {
  while (!fields.empty()) {
    const std::size_t end = fields.find("\r\n");
    const std::string_view line = fields.substr(0, end);
    const std::size_t colon = line.find(':');
    if (same_text(line.substr(0, colon), name)) return trim(line.substr(colon + 1));
    fields.remove_prefix(end + 2);
  }
  return {};
}

}  // namespace

DocumentPtr Document::from_bytes(std::string bytes, std::string_view key) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const std::string_view view = *owner;
  return from_bytes(view, std::move(owner), key);
}

DocumentPtr Document::from_bytes(std::string_view bytes, std::shared_ptr<const void> owner,
                                 std::string_view key) {
  DocumentHead head;
  if (bytes.size() < sizeof head) return nullptr;
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::size_t rest = bytes.size() - sizeof head;
  const std::uint64_t before_body = std::uint64_t{head.key_size} + head.fields_size;
  if (head.magic != DocumentHead::kMagic || before_body > rest ||
      head.body_size != rest - before_body ||
      std::uint64_t{head.etag_begin} + head.etag_size > head.fields_size) {
    return nullptr;
  }
  if (bytes.substr(sizeof head, head.key_size) != key) return nullptr;
  return DocumentPtr(new Document(bytes, std::move(owner), head));
}

Validators Document::validators() const noexcept {
  Validators validators;
  validators.etag = fields().substr(head_.etag_begin, head_.etag_size);
  if (head_.last_modified != DocumentHead::kNoDate) validators.last_modified = head_.last_modified;
  return validators;
}

DocumentBuilder::DocumentBuilder(std::string_view key, int status, std::string_view fields,
                                 const Validity& validity, std::int64_t now,
                                 std::size_t expected_body) {
  head_.status = static_cast<std::uint16_t>(status);
  head_.key_size = static_cast<std::uint32_t>(key.size());
  head_.fields_size = static_cast<std::uint32_t>(fields.size());
  head_.validity = validity;
  const auto modified = parse_http_date(value_of(fields, "last-modified"), now / 1000);
  head_.last_modified = modified.value_or(DocumentHead::kNoDate);
  const std::string_view etag = value_of(fields, "etag");
  if (!etag.empty()) {
    head_.etag_begin = static_cast<std::uint32_t>(etag.data() - fields.data());
    head_.etag_size = static_cast<std::uint32_t>(etag.size());
  }
  body_begin_ = sizeof head_ + key.size() + fields.size();
  bytes_.reserve(body_begin_ + expected_body);
  bytes_.resize(sizeof head_);
  bytes_.append(key).append(fields);
}

DocumentPtr DocumentBuilder::variants(std::string_view key, std::string_view names,
                                      std::uint64_t generation) {
  DocumentBuilder builder(key, 0, {}, {}, 0, names.size());
  builder.append(names);
  builder.head_.kind = DocumentKind::kVariants;
  builder.head_.generation = generation;
  return builder.finish();
}

DocumentPtr DocumentBuilder::finish() {
  head_.body_size = bytes_.size() - body_begin_;
  std::memcpy(bytes_.data(), &head_, sizeof head_);
  const std::string key = bytes_.substr(sizeof head_, head_.key_size);
  return Document::from_bytes(std::move(bytes_), key);
}

}  // namespace proxy
