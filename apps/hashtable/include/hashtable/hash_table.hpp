// SPDX-License-Identifier: MIT
// HashTable<Key, Value>: a hash table spread over all workers of a job, in both its forms.
#pragma once

#include "hashtable/hash_table_of_pieces.hpp"
#include "hashtable/hash_table_of_slots.hpp"
