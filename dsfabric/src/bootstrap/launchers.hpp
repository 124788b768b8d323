// SPDX-License-Identifier: MIT
// Launchers that start several processes, by the marks that they leave in the environment.
#pragma once

namespace dsfabric {

/// Throws Error when a launcher started this process as one of several, which it gave no way to
/// find each other: each would be a job of one, and nobody would notice. Setup only.
void refuse_to_be_left_alone();

}  // namespace dsfabric
