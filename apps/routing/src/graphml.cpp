// SPDX-License-Identifier: MIT
// The part of XML and GraphML that topology files are made of.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "dtutils/error.hpp"
#include "routing/topology.hpp"

namespace routing {
namespace {

/// One step through the text: an opening tag (perhaps closed at once), a closing tag, or text.
struct Token {
  enum class Kind { kOpen, kClose, kText, kEnd } kind = Kind::kEnd;
  std::string name;
  std::map<std::string, std::string> attributes;
  bool closed = false;
};

class Scanner {
 public:
  Scanner(std::string text, std::string_view name) : text_(std::move(text)), name_(name) {}

  Token next() {
    if (at_ >= text_.size()) return {};
    if (text_[at_] != '<') {
      return {Token::Kind::kText, plain(take_until("<", 0)), {}, false};
    }
    if (text_.compare(at_, 4, "<!--") == 0) {
      take_until("-->", 3);
      return next();
    }
    if (text_.compare(at_, 2, "<?") == 0) {
      take_until("?>", 2);
      return next();
    }
    if (text_.compare(at_, 2, "<!") == 0) fail("document types and CDATA are not read");
    std::string tag = take_until(">", 1);
    tag = tag.substr(1, tag.size() - 2);
    if (tag.starts_with("/")) return {Token::Kind::kClose, tag.substr(1), {}, false};
    return open_tag(tag);
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw dtutils::Error(name_, std::string(what), "give a GraphML file as the Topology Zoo has");
  }

 private:
  /// Up to `end`, of which `keep` bytes belong to the result.
  std::string take_until(std::string_view end, std::size_t keep) {
    const std::size_t found = text_.find(end, at_ + keep);
    if (found == std::string::npos) {
      if (keep != 0) fail(fmt::format("\"{}\" is missing", end));
      return text_.substr(std::exchange(at_, text_.size()));
    }
    const std::size_t stop = found + keep;
    return text_.substr(std::exchange(at_, stop), stop - at_);
  }
  Token open_tag(const std::string& tag) const {
    constexpr const char* kSpace = " \t\r\n";
    Token token{Token::Kind::kOpen, tag.substr(0, tag.find_first_of(" \t\r\n/")), {}, false};
    token.closed = tag.ends_with("/");
    std::size_t at = token.name.size();
    for (;;) {
      at = tag.find_first_not_of(kSpace, at);
      if (at == std::string::npos || tag[at] == '/') return token;
      const std::size_t equals = tag.find('=', at);
      const std::size_t open = equals == std::string::npos ? equals : equals + 1;
      if (open >= tag.size() || (tag[open] != '"' && tag[open] != '\'')) {
        fail(fmt::format("\"<{}>\" has an attribute without value", tag));
      }
      const std::size_t close = tag.find(tag[open], open + 1);
      if (close == std::string::npos) fail(fmt::format("\"<{}>\" has an open quote", tag));
      token.attributes[tag.substr(at, equals - at)] = plain(tag.substr(open + 1, close - open - 1));
      at = close + 1;
    }
  }
  static std::string plain(const std::string& text) {
    static constexpr std::pair<std::string_view, char> kEntities[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      char letter = text[i];
      for (const auto& [entity, meaning] : kEntities) {
        if (text.compare(i, entity.size(), entity) != 0) continue;
        letter = meaning;
        i += entity.size() - 1;
        break;
      }
      result += letter;
    }
    return result;
  }

  std::string text_;
  std::string name_;
  std::size_t at_ = 0;
};

/// Builds the topology while tokens come by.
class GraphBuilder {
 public:
  explicit GraphBuilder(Scanner& scanner) : scanner_(scanner) {}

  Topology read() {
    for (Token token = scanner_.next(); token.kind != Token::Kind::kEnd; token = scanner_.next()) {
      if (token.kind == Token::Kind::kOpen) {
        open(token);
        if (token.closed) close(token.name);
      } else if (token.kind == Token::Kind::kClose) {
        close(token.name);
      } else {
        text_ = token.name;
      }
    }
    if (!graph_) scanner_.fail("it has no graph");
    return std::move(topology_);
  }

 private:
  void open(const Token& token) {
    const auto attribute = [&](const char* name) {
      const auto found = token.attributes.find(name);
      return found == token.attributes.end() ? std::string() : found->second;
    };
    text_.clear();
    if (token.name == "graph") {
      graph_ = true;
      directed_ = attribute("edgedefault") == "directed";
    } else if (token.name == "key") {
      meanings_[attribute("id")] = attribute("attr.name");
    } else if (token.name == "node") {
      const std::string id = attribute("id");
      if (id.empty() || !ids_.try_emplace(id, topology_.size()).second) {
        scanner_.fail(fmt::format("node \"{}\" has no id of its own", id));
      }
      topology_.names.push_back(id);
      at_node_ = true;
    } else if (token.name == "edge") {
      link_ = {find(attribute("source")), find(attribute("target")), 1};
      at_edge_ = true;
    } else if (token.name == "data") {
      key_ = meanings_[attribute("key")];
    }
  }
  void close(const std::string& name) {
    if (name == "data") {
      data();
    } else if (name == "node") {
      at_node_ = false;
    } else if (name == "edge") {
      at_edge_ = false;
      if (link_.from == link_.to) return;
      directed_ ? topology_.links.push_back(link_)
                : topology_.connect(link_.from, link_.to, link_.cost);
    }
  }
  void data() {
    if (at_node_ && key_ == "label" && !text_.empty() && !topology_.find(text_)) {
      topology_.names.back() = text_;
    } else if (at_edge_ && (key_ == "cost" || key_ == "weight")) {
      const double cost = std::strtod(text_.c_str(), nullptr);
      if (!(cost >= 1 && cost <= kMaxCost)) scanner_.fail("\"" + text_ + "\" is no cost");
      link_.cost = static_cast<Cost>(std::lround(cost));
    }
  }
  RouterId find(const std::string& id) const {
    const auto found = ids_.find(id);
    if (found == ids_.end()) scanner_.fail(fmt::format("node \"{}\" is not there", id));
    return {static_cast<std::uint16_t>(found->second)};
  }

  Scanner& scanner_;
  Topology topology_;
  std::map<std::string, std::size_t> ids_;
  std::map<std::string, std::string> meanings_;
  std::string text_;
  std::string key_;
  Link link_{};
  bool graph_ = false;
  bool directed_ = false;
  bool at_node_ = false;
  bool at_edge_ = false;
};

}  // namespace

Topology read_graphml(std::istream& in, std::string_view name) {
  Scanner scanner(std::string(std::istreambuf_iterator<char>(in), {}), name);
  return GraphBuilder(scanner).read();
}

}  // namespace routing
