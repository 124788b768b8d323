// SPDX-License-Identifier: MIT
// Model of a ring that grows (packetized_grow.cpp, ring.hpp): the receiver offers a larger ring,
// the sender chooses the first byte in it, and bytes may be packed and fetched before and after.
// Each byte is taken out of the place in which it lies.

/* spin-check: cc="-DSAFETY" expect=pass */
/* Mistakes that must show. */
/* The receiver looks at `grown` before it looks at the count. */
/* spin-check: spin="-DLOOK_FIRST" cc="-DSAFETY" expect=fail error="assertion violated" */
/* The sender tells of bytes in the larger ring before it writes `grown`. */
/* spin-check: spin="-DTELL_FIRST" cc="-DSAFETY" expect=fail error="assertion violated" */
/* It packs while the receiver may not know of the larger ring. */
/* spin-check: spin="-DPACK_WHILE_SWITCHING" cc="-DSAFETY" expect=fail error="assertion violated" */
/* It begins the larger ring with bytes that are packed, and may have been fetched. */
/* spin-check: spin="-DFROM_WRITTEN" cc="-DSAFETY" expect=fail error="assertion violated" */
/* The larger ring lies where the first one does. */
/* spin-check: spin="-DSAME_MEMORY" cc="-DSAFETY" expect=fail error="assertion violated" */

#define BYTES 6
#define FIRST 2
#define LARGER 4
#define PACKED 2    /* so many bytes may be packed behind what was told */
#define NEVER 100

#ifdef SAME_MEMORY
#define LARGER_AT 0
#else
#define LARGER_AT FIRST
#endif
#define PLACE(n, at) (n >= at -> LARGER_AT + n % LARGER : n % FIRST)
#define SIZE(at) (at == NEVER -> FIRST : LARGER)
#define MAX(a, b) (a > b -> a : b)
#define MIN(a, b) (a < b -> a : b)

#ifdef PACK_WHILE_SWITCHING
#define MAY_PACK (packing && seen_there < told)
#else
#define MAY_PACK (packing && seen_there < told && !switching)
#endif
#define SPACE (accepted - MIN(written, taken_there) < SIZE(at))

/* The receiver's memory: byte n of the stream is n + 1. */
byte ring[FIRST + LARGER];
byte sent;
byte grown = NEVER;
/* The sender's memory: written by the receiver. The flag lies in the word `taken`. */
byte taken_word, seen_word;
bit offer_word;
/* Read by the receiver: one word. */
byte published_written, published_packed;

/* What is atomic touches one word of the other side's at most. */
active proctype Sender() {
  byte accepted, written, told, taken_there, seen_there;
  byte at = NEVER;
  bit offered, switching, packing, owes;
  do
  /* read_feedback. */
  :: atomic {
       taken_word != taken_there || offer_word != offered ->
       taken_there = taken_word;
       offered = offer_word;
       switching = switching && MAX(taken_there, seen_there) <= at
     }
  :: atomic {
       seen_word != seen_there ->
       seen_there = seen_word;
       switching = switching && MAX(taken_there, seen_there) <= at
     }
  /* begin_larger_ring. */
  :: atomic {
#ifdef FROM_WRITTEN
       offered && at == NEVER ->
       at = written;
#else
       offered && at == NEVER && written == accepted ->
       at = accepted;
#endif
       switching = 1;
#ifdef TELL_FIRST
       owes = 1
#else
       grown = at
#endif
     }
  /* A byte is packed. */
  :: atomic {
       accepted < BYTES && MAY_PACK && accepted < told + PACKED && SPACE ->
       accepted++;
       published_written = written;
       published_packed = accepted - written
     }
  /* write_packed. */
  :: atomic {
       written < accepted ->
       ring[PLACE(written, at)] = written + 1;
       written++
     }
  /* A byte is written. */
  :: atomic {
       accepted < BYTES && written == accepted && SPACE ->
       ring[PLACE(accepted, at)] = accepted + 1;
       accepted++;
       written++
     }
  /* tell_sent. */
  :: atomic {
       told != written && written == accepted ->
       sent = written;
       told = written;
       packing = !switching
     }
     atomic { published_written = written; published_packed = 0 }
#ifdef TELL_FIRST
     if :: owes -> grown = at; owes = 0 :: else fi
#endif
  :: told == BYTES -> break
  od
}

active proctype Receiver() {
  byte arrived, taken, now, found, answer_written, answer_packed, to;
  byte at = NEVER;
  bit offered, asking;
  do
  /* hear. */
  :: atomic {
       sent > arrived ->
#ifdef LOOK_FIRST
       found = grown
     }
     now = sent;
#else
       now = sent
     }
     found = grown;
#endif
     atomic {
       if
       :: offered && at == NEVER && found != NEVER ->
          assert(found >= arrived && found - taken <= FIRST);
          at = found
       :: else
       fi;
       assert(now - taken <= SIZE(at));
       arrived = MAX(now, arrived);
       now = 0;
       found = 0
     }
  /* receive. */
  :: atomic {
       taken < arrived ->
       assert(ring[PLACE(taken, at)] == taken + 1);
       taken++
     }
  /* tell_feedback, with an offer or without. */
  :: atomic {
       taken != taken_word ->
       if :: offered = 1 :: true fi;
       taken_word = taken;
       offer_word = offered
     }
  /* ask. */
  :: atomic { !asking && seen_word != arrived -> asking = 1; seen_word = arrived }
     atomic { answer_written = published_written; answer_packed = published_packed }
  /* on_answer, and fetch: nothing is heard meanwhile. */
  :: asking ->
     asking = 0;
     to = answer_written + answer_packed;
     if
     :: answer_written <= arrived && to > arrived && to - taken <= SIZE(at) ->
        do
        :: atomic { arrived < to -> ring[PLACE(arrived, at)] = arrived + 1; arrived++ }
        :: atomic { arrived == to -> break }
        od
     :: else
     fi;
     atomic { to = 0; answer_written = 0; answer_packed = 0 }
  :: taken == BYTES -> break
  od
}
