// SPDX-License-Identifier: MIT
// Who is told what a proxy has done.
#pragma once

#include "proxy/document_store.hpp"
#include "proxy/metrics.hpp"

namespace proxy {

/// Takes the figures of a proxy to where others see them. Owner thread only.
class Publisher {
 public:
  virtual ~Publisher() = default;
  /// Some times a second.
  virtual void publish(const Metrics& metrics, const DocumentStore::Figures& store) = 0;
};

}  // namespace proxy
