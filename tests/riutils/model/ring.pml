// SPDX-License-Identifier: MIT
// Model of a ring: chunks, mirrors, the zero word, consumption, growth; over a device that is slow.

/* The protocol as it is: every record once, in order, and nobody stays stuck. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* The device lands the bytes of one write in any order; the header goes by a write of its own. */
/* spin-check: spin="-DIN_ORDER=0" cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* Mistakes that must show. */
/* One write although its bytes may land in any order. */
/* spin-check: spin="-DIN_ORDER=0 -DSPLIT=0" cc="-DSAFETY" expect=fail error="assertion" */
/* The next header is put where the device may still have to read the zero. */
/* spin-check: spin="-DGAP=0" cc="-DSAFETY" expect=fail error="assertion" */
/* The receiver gives a chunk back without a zero in its first word. */
/* spin-check: spin="-DZERO_FIRST=0" cc="-DSAFETY" expect=fail error="assertion" */
/* Consumption is told before the zero is stored. */
/* spin-check: spin="-DZERO_LATE=1" cc="-DSAFETY" expect=fail */
/* The sender goes on without looking at consumption. */
/* spin-check: spin="-DLOOK=0" cc="-DSAFETY" expect=fail */
/* Growth that is not told in the control word. */
/* spin-check: spin="-DTELL_GROWTH=0" cc="-DSAFETY" expect=fail */

#ifndef IN_ORDER
#define IN_ORDER 1
#endif
#ifndef SPLIT
#define SPLIT 1
#endif
#ifndef GAP
#define GAP 1
#endif
#ifndef ZERO_FIRST
#define ZERO_FIRST 1
#endif
#ifndef ZERO_LATE
#define ZERO_LATE 0
#endif
#ifndef LOOK
#define LOOK 1
#endif
#ifndef TELL_GROWTH
#define TELL_GROWTH 1
#endif

#define RECORDS 6    /* each of a header and a payload of one word */
#define WORDS 6      /* of a chunk, filled from place 0 on: header, payload, header, payload, ... */
#define CHUNKS 3     /* the third one comes by growth */
#define DEPTH 3      /* writes that the device has not executed */
#define CONTROL 100  /* a header; CONTROL + 1 tells of one new chunk */

/* Remote memory. A payload word holds 50 + its record, which as a header would be nonsense. */
byte remote[18];
/* Mirrors. A word that the device may still have to read is read when the write executes. */
byte mirror[18];
byte consumed_word;

/* The order of chunks in the circle, as each side knows it. */
byte next_of_sender[CHUNKS], next_of_receiver[CHUNKS];
bit granted;

/* A write: remote place of its header, mirror place of its header, payload or not, mirror place of
   its zero or of the header only. */
chan posted = [DEPTH] of { byte, byte, bit, byte };

inline post(place, from, with_payload, zero) {
  posted ! place, from, with_payload, zero
}

/* Executes writes in the order of their posts, some time later. */
active proctype device() {
  byte place, from, zero;
  bit payload;
  end: do
  :: posted ? <place, from, payload, zero> ->
    if
    :: !payload -> remote[place] = mirror[from]
    :: payload && (IN_ORDER || SPLIT) ->
      /* Ascending addresses: the zero below lands first, the header last. */
      remote[place + 2] = mirror[zero];
      remote[place + 1] = mirror[from + 1];
      remote[place] = mirror[from]
    :: payload && !IN_ORDER && !SPLIT ->
      remote[place] = mirror[from];
      remote[place + 2] = mirror[zero];
      remote[place + 1] = mirror[from + 1]
    fi;
    posted ? _, _, _, _
  od
}

active proctype sender() {
  byte chunk = 0, at = 0, next, i = 0, left = 0, zero;
  byte sequence[CHUNKS];
  byte used = 0;      /* chunks entered */
  bit grown = 0;
  /* Of the mirror words of a record only that of the zero is used again: by the next header. */
  atomic {
    next_of_sender[0] = 1; next_of_sender[1] = 0;
    next_of_receiver[0] = 1; next_of_receiver[1] = 0;
    sequence[0] = 0; sequence[1] = 255; sequence[2] = 255; used = 1
  }
  do
  :: i == RECORDS -> break
  :: i < RECORDS ->
    if
    :: at + 2 < WORDS - 1 ->
      /* room for header, payload, and the zero or control below */
      atomic {
        mirror[chunk * WORDS + at] = i + 1;
        mirror[chunk * WORDS + at + 1] = 51 + i;
        if
        :: GAP -> zero = 17   /* a word that stays zero */
        :: else -> zero = chunk * WORDS + at + 2; mirror[zero] = 0
        fi;
        post(chunk * WORDS + at, chunk * WORDS + at, 1, zero);
        at = at + 2;
        i++
      }
    :: else ->
      next = next_of_sender[chunk];
      if
      :: LOOK && sequence[next] != 255 && consumed_word <= sequence[next] ->
        if
        :: !granted ->
          /* Growth: the answer of a service thread, after the receiver's books have the chunk. */
          atomic {
            granted = 1; remote[2 * WORDS] = 0;
            next_of_sender[2] = next; next_of_sender[chunk] = 2; grown = 1
          }
        :: granted && consumed_word > sequence[next] -> skip
        fi
      :: !LOOK || sequence[next] == 255 || consumed_word > sequence[next] ->
        atomic {
          mirror[chunk * WORDS + at] = CONTROL + grown;
          post(chunk * WORDS + at, chunk * WORDS + at, 0, 0);
          grown = 0;
          sequence[next] = used; used++;
          chunk = next; at = 0
        }
      fi
    fi
  od
}

active proctype receiver() {
  byte chunk = 0, at = 0, word, expected = 1, told = 0;
  do
  :: expected > RECORDS -> break
  :: expected <= RECORDS && remote[chunk * WORDS + at] != 0 ->
    word = remote[chunk * WORDS + at];
    if
    :: word >= CONTROL ->
      assert(word <= CONTROL + 1);
      if
      :: TELL_GROWTH && word == CONTROL + 1 ->
        next_of_receiver[2] = next_of_receiver[chunk];
        next_of_receiver[chunk] = 2
      :: else
      fi;
      if
      :: ZERO_LATE -> told++; consumed_word = told; remote[chunk * WORDS] = 0
      :: !ZERO_LATE && ZERO_FIRST -> remote[chunk * WORDS] = 0; told++; consumed_word = told
      :: else -> told++; consumed_word = told
      fi;
      chunk = next_of_receiver[chunk];
      at = 0
    :: else ->
      assert(word == expected);
      assert(remote[chunk * WORDS + at + 1] == 50 + word);
      expected++;
      at = at + 2
    fi
  od
}
