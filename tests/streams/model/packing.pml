// SPDX-License-Identifier: MIT
// Model of packing (packetized.hpp): small sends stay with the sender, and the receiver fetches
// them; when it has seen all that was told, the sender writes again. No byte stays packed while the
// receiver sleeps and the sender does nothing more.

/* spin-check: cc="-O0 -DSAFETY" expect=pass */
/* Mistakes that must show. */
/* A look for space takes note of `seen`, and the next send packs as if nothing had changed: the
   wake-up that was lost. */
/* spin-check: spin="-DPACK_AFTER_LOOK" cc="-DSAFETY" expect=fail error="invalid end state" */
/* The sender does not load `seen` behind what it publishes. */
/* spin-check: spin="-DNO_SECOND_LOAD" cc="-DSAFETY" expect=fail error="invalid end state" */
/* The receiver reads what is published before it writes `seen`. */
/* spin-check: spin="-DREAD_FIRST" cc="-DSAFETY" expect=fail error="invalid end state" */
/* It sleeps without asking. */
/* spin-check: spin="-DSLEEP_UNASKED" cc="-DSAFETY" expect=fail error="invalid end state" */
/* An answer counts though bytes were heard of behind its question. */
/* spin-check: spin="-DSTALE_ANSWER" cc="-DSAFETY" expect=fail error="invalid end state" */
/* The sender does not ring. */
/* spin-check: spin="-DNO_BELL" cc="-DSAFETY" expect=fail error="invalid end state" */

#define SENDS 5
#define PACKED 2    /* so many bytes may be packed behind what was told */

/* The receiver's memory. */
byte sent;          /* the count of bytes that were told of */
/* The sender's memory. */
byte seen, armed;   /* written by the receiver */
byte published;     /* bytes written and packed */
bit bell;

/* The sender's own. */
byte accepted, told, seen_word, pack_until, answered;

inline read_feedback() {
  now = seen;
  if
  :: now != seen_word ->
    seen_word = now;
#ifndef PACK_AFTER_LOOK
    if :: seen_word >= told -> pack_until = 0 :: else fi
#endif
  :: else
  fi
}

#define MAY_PACK(bytes) (seen_word < told && accepted + bytes <= pack_until)

/* write_packed and tell_sent. */
inline send_packed() {
  sent = accepted;
  told = accepted;
  pack_until = (seen_word < told -> told + PACKED : 0);
  published = accepted;
#ifndef NO_BELL
  now = armed;
  if :: now != answered -> bell = 1; answered = now :: else fi
#endif
}

active proctype Sender() {
  byte now;
  do
  :: accepted == SENDS -> break
  :: else ->
    /* writable, send_ready, or a sleep. */
    if :: read_feedback() :: true fi;
    now = seen;
    if
    /* pack_at_once: nothing came since the last look. */
    :: now == seen_word && accepted + 1 <= pack_until ->
      accepted++;
      published = accepted;
#ifndef NO_SECOND_LOAD
      now = seen;
      if
      :: now != seen_word ->
        read_feedback();
        if :: !MAY_PACK(0) -> send_packed() :: else fi
      :: else
      fi
#endif
    :: else ->
      read_feedback();
      if
      :: MAY_PACK(1) ->
        accepted++;
        published = accepted;
#ifndef NO_SECOND_LOAD
        read_feedback();
        if :: !MAY_PACK(0) -> send_packed() :: else fi
#endif
      :: else -> accepted++; send_packed()
      fi
    fi
  od
}

/* Writes what it knows, and then reads what is published: one queue pair keeps the order. */
inline ask() {
#ifdef READ_FIRST
  answer = published;
#endif
  seen = arrived;
  armed = number;
#ifndef READ_FIRST
  answer = published
#endif
}

active proctype Receiver() {
  byte arrived, answer, number;
  bit bell_came = 1;
  do
  :: arrived == SENDS -> break
  :: else ->
    if
    /* It looks, and fetches what is packed. */
    :: sent > arrived -> arrived = sent
    :: ask(); arrived = (answer > arrived -> answer : arrived)
    /* It falls asleep. */
    :: sent <= arrived ->
      if :: bell_came -> number++; bell_came = 0 :: else fi;
#ifdef SLEEP_UNASKED
      armed = number; answer = arrived;
#else
      ask();
#endif
      /* Bytes may be heard of before the answer is there. */
      if :: sent > arrived -> arrived = sent :: true fi;
      if
      :: answer > arrived -> arrived = answer
#if defined(STALE_ANSWER) || defined(SLEEP_UNASKED)
      :: answer == arrived ->
#else
      :: answer == arrived && seen == arrived ->
#endif
        if
        :: sent > arrived
        :: else -> bell; bell = 0; bell_came = 1
        fi
      :: else
      fi
    fi
  od
}
