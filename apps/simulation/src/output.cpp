// SPDX-License-Identifier: MIT
// NodeOutput: streams that know which node writes.
#include "output.hpp"

#include <fmt/format.h>

#include <streambuf>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/simulation.hpp"

namespace simulation {
namespace {

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
std::uint64_t digest_of(std::string_view text) noexcept {
  std::uint64_t digest = 0xcbf29ce484222325u;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return digest;
}

ssize_t write_cookie(void* cookie, const char* text, std::size_t length) {
  static_cast<NodeOutput*>(cookie)->write({text, length});
  return static_cast<ssize_t>(length);
}

}  // namespace

/// Without characters of its own, as the streams of the standard library are while they are in
/// step with stdio.
class NodeOutput::Buffer final : public std::streambuf {
 public:
  explicit Buffer(NodeOutput& output) noexcept : output_(output) {}

 protected:
  int_type overflow(int_type c) override {
    const char one = traits_type::to_char_type(c);
    if (!traits_type::eq_int_type(c, traits_type::eof())) output_.write({&one, 1});
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize length) override {
    output_.write({text, static_cast<std::size_t>(length)});
    return length;
  }

 private:
  NodeOutput& output_;
};

NodeOutput::NodeOutput(std::FILE*& stream, std::vector<std::ostream*> others, std::uint32_t nodes)
    : stream_(stream), before_(stream), others_(std::move(others)), begun_(nodes) {
  cookie_io_functions_t functions{};
  functions.write = write_cookie;
  between_ = fopencookie(this, "w", functions);
  if (between_ == nullptr) {
    throw dtutils::Error("simulation", "the output of nodes cannot be told apart",
                         "free some memory", errno);
  }
  std::fflush(before_);
  // At once, so that it is the node that prints which writes.
  std::setvbuf(between_, nullptr, _IONBF, 0);
  stream_ = between_;
  for (std::ostream* const other : others_) {
    buffers_.push_back(std::make_unique<Buffer>(*this));
    others_before_.push_back(other->rdbuf(buffers_.back().get()));
  }
}

NodeOutput::~NodeOutput() {
  for (std::size_t i = 0; i < others_.size(); ++i) others_[i]->rdbuf(others_before_[i]);
  stream_ = before_;
  std::fclose(between_);
  for (std::uint32_t node = 0; node < begun_.size(); ++node) {
    if (!begun_[node].empty()) write_line(node, begun_[node]);
  }
  std::fflush(before_);
}

void NodeOutput::write(std::string_view text) {
  dtutils::Simulation* const cluster = dtutils::Simulation::current();
  if (cluster == nullptr) {
    std::fwrite(text.data(), 1, text.size(), before_);
    return;
  }
  const std::uint32_t node = cluster->node();
  if (cluster->crashed(node)) return;
  cluster->note(digest_of(text) ^ node);
  std::string& line = begun_.at(node);
  for (;;) {
    const std::size_t end = text.find('\n');
    line += text.substr(0, end);
    if (end == std::string_view::npos) return;
    write_line(node, line);
    line.clear();
    text.remove_prefix(end + 1);
  }
}

void NodeOutput::write_line(std::uint32_t node, std::string_view line) {
  dtutils::Simulation* const cluster = dtutils::Simulation::current();
  if (cluster != nullptr && cluster->traced()) cluster->mark("output", line);
  const std::string whole = fmt::format("[{}] {}\n", node, line);
  std::fwrite(whole.data(), 1, whole.size(), before_);
}

}  // namespace simulation
