// SPDX-License-Identifier: MIT
// The whole framework: what a program includes.
#pragma once

#include "mcts/channel.hpp"
#include "mcts/game.hpp"
#include "mcts/report.hpp"
#include "mcts/searcher.hpp"
#include "mcts/settings.hpp"
