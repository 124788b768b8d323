// SPDX-License-Identifier: MIT
// Model of offers (offer.hpp, zero_copy_*.cpp, page_guard.cpp): both sides change one word by
// compare-and-swap. What is counted as read was right, both count the same, and nobody reads memory
// that is gone, unless the sender has lost patience with a reader.

/* Sends that wait, and may run out of time. */
/* spin-check: cc="-O0 -DSAFETY" expect=pass */
/* The sender may also lose patience with a reader; the link breaks then. */
/* spin-check: spin="-DPATIENCE_ENDS" cc="-O0 -DSAFETY" expect=pass */
/* Asynchronous sends: the program writes into the memory, or takes it away, or both. */
/* spin-check: spin="-DASYNCHRONOUS" cc="-O0 -DSAFETY" expect=pass */
/* spin-check: spin="-DASYNCHRONOUS -DPATIENCE_ENDS" cc="-O0 -DSAFETY" expect=pass */
/* Mistakes that must show. */
/* The receiver counts what it has read, whether the second swap succeeds or not. */
/* spin-check: spin="-DASYNCHRONOUS -DCOUNT_ANYWAY" cc="-DSAFETY" expect=fail error="assertion" */
/* The sender stores the end of the offer. */
/* spin-check: spin="-DWITHDRAW_BY_STORE" cc="-DSAFETY" expect=fail error="assertion" */
/* The receiver does not say that it reads, so the sender cannot wait for it. */
/* spin-check: spin="-DREAD_UNSAID" cc="-DSAFETY" expect=fail error="assertion" */
/* The word has no number: an offer is taken for the one before it. */
/* spin-check: spin="-DNO_NUMBER -DPATIENCE_ENDS" cc="-DSAFETY" expect=fail error="assertion" */
/* The bytes are copied aside behind the change of the word. */
/* spin-check: spin="-DASYNCHRONOUS -DCOPY_LATE" cc="-DSAFETY" expect=fail error="assertion" */
/* Memory is taken away without waiting for a reader. */
/* spin-check: spin="-DASYNCHRONOUS -DNO_WAIT" cc="-DSAFETY" expect=fail error="assertion" */
/* The same, when it was written before, so that nothing is protected any more. */
/* spin-check: spin="-DASYNCHRONOUS -DFORGET_READER" cc="-DSAFETY" expect=fail error="assertion" */

#define OFFERS 3
#define PARTS 2

#define OFFERED 0
#define READING 1
#define WITHDRAWN 2
#define MOVED 3
#ifdef NO_NUMBER
#define WORD(n, s, t) ((s) * 4 + (t))
#else
#define WORD(n, s, t) ((n) * 16 + (s) * 4 + (t))
#endif
#define STATE(w) (((w) / 4) % 4)
#define TAKEN(w) ((w) % 4)

#define WRITTEN 0   /* content of memory: the number of its offer, or one of these */
#define GONE 99

byte word;
byte memory, spare;
chan ring = [OFFERS] of { byte };
byte received[OFFERS + 1], counted[OFFERS + 1];
bit impatient;      /* the sender has taken memory back from a reader */
bit broken;         /* a read has failed, so the queue pair has */
bit receiver_done;

inline swap(expected, desired) {
  atomic { found = word; if :: word == expected -> word = desired :: else fi }
}

active proctype Receiver() {
  byte n, value, found, taken;
  do
  :: ring ? n ->
    taken = 0;
    do
    :: taken == PARTS -> break
    :: else ->
#ifdef READ_UNSAID
      found = word;
#else
      swap(WORD(n, OFFERED, taken), WORD(n, READING, taken));
#endif
      if
      :: found == WORD(n, OFFERED, taken) ->
        value = memory;
        if :: value == GONE -> broken = 1; goto end :: else fi;
#ifdef READ_UNSAID
        swap(WORD(n, OFFERED, taken), WORD(n, OFFERED, taken + 1));
        found = (found == WORD(n, OFFERED, taken) -> WORD(n, READING, taken) : found);
#else
        swap(WORD(n, READING, taken), WORD(n, OFFERED, taken + 1));
#endif
#ifdef COUNT_ANYWAY
        found = WORD(n, READING, taken);
#endif
        if
        :: found == WORD(n, READING, taken) ->
          assert(value == n); taken++; received[n] = taken; goto next
        :: else
        fi
      :: else
      fi;
      if
      :: found == WORD(n, MOVED, taken) ->
        value = spare;
        swap(WORD(n, MOVED, taken), WORD(n, MOVED, taken + 1));
        if
        :: found == WORD(n, MOVED, taken) ->
          assert(value == n); taken++; received[n] = taken
        :: else -> assert(false)
        fi
      /* The offer was taken back, and others may have come since. */
      :: else -> break
      fi;
next: skip
    od
  :: n == OFFERS && empty(ring) -> break
  od;
end: receiver_done = 1
}

inline wait_for_change() {
  if
  :: word != seen || broken
#ifdef PATIENCE_ENDS
  :: impatient = 1; patience = 0
#endif
  fi
}

#ifndef ASYNCHRONOUS
active proctype Sender() {
  byte n, seen;
  bit patience, swapped;
  for (n : 1 .. OFFERS) {
    memory = n;
    word = WORD(n, OFFERED, 0);
    ring ! n;
    /* It waits until all is read, or until its time is over. */
    if :: TAKEN(word) == PARTS || broken :: true fi;
    patience = 1;
    do
    :: seen = word;
      if
      :: TAKEN(seen) == PARTS || broken -> break
      :: else
      fi;
      if
      :: STATE(seen) == READING && patience -> wait_for_change()
      :: else ->
        atomic {
#ifdef WITHDRAW_BY_STORE
          swapped = 1;
#else
          swapped = (word == seen);
#endif
          if :: swapped -> word = WORD(n, WITHDRAWN, TAKEN(seen)) :: else fi
        };
        if :: swapped -> break :: else fi
      fi
    od;
    counted[n] = TAKEN(seen);
    memory = GONE
  };
  receiver_done;
  assert(!broken || impatient);
  for (n : 1 .. OFFERS) { assert(broken || received[n] == counted[n]) }
}
#else

/* The word, when a peer that may be reading was left in the memory that was written. */
#define NOBODY 255
byte reader;

/* on_write, by a thread that stops for it. */
inline write_memory() {
  do
  :: seen = word;
    if
    :: TAKEN(seen) == PARTS || STATE(seen) == MOVED -> break
    :: else
    fi;
#ifndef COPY_LATE
    spare = memory;
#endif
    atomic {
      swapped = (word == seen);
      if :: swapped -> word = WORD(n, MOVED, TAKEN(seen)) :: else fi
    };
#ifdef COPY_LATE
    spare = memory;
#endif
    if
    :: swapped ->
#ifndef FORGET_READER
      if :: STATE(seen) == READING -> reader = WORD(n, MOVED, TAKEN(seen)) :: else fi;
#endif
      break
    :: else
    fi
  od;
  memory = WRITTEN
}

/* detach, and what the program does behind it. */
inline take_away() {
  patience = 1;
  do
  :: seen = word;
    if
    :: reader != NOBODY ->
      if
      :: seen == reader && patience && !broken -> wait_for_change()
      :: else -> break
      fi
    :: else ->
      if
      :: TAKEN(seen) == PARTS || STATE(seen) == MOVED || broken -> break
#ifndef NO_WAIT
      :: STATE(seen) == READING && patience && TAKEN(seen) != PARTS && !broken ->
        wait_for_change();
        goto again
#endif
      :: else
      fi;
      spare = memory;
      atomic {
        swapped = (word == seen);
        if :: swapped -> word = WORD(n, MOVED, TAKEN(seen)) :: else fi
      };
      if :: swapped -> break :: else fi
    fi;
again: skip
  od;
  memory = GONE
}

active proctype Sender() {
  byte n, seen;
  bit patience, swapped;
  for (n : 1 .. OFFERS) {
    memory = n;
    reader = NOBODY;
    word = WORD(n, OFFERED, 0);
    ring ! n;
    if
    :: true
    :: write_memory()
    :: take_away()
    :: write_memory(); take_away()
    fi;
    TAKEN(word) == PARTS || broken
  };
  receiver_done;
  assert(!broken || impatient);
  for (n : 1 .. OFFERS) { assert(broken || received[n] == PARTS) }
}
#endif
