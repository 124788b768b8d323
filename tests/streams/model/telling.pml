// SPDX-License-Identifier: MIT
// Model of writes that tell (writes_that_tell.hpp): a write with immediate data takes a receive of
// the peer, and wakes it; without a receive the sender tells by a word, which wakes nobody. No
// write waits for a receive, and no byte stays unknown to a receiver that sleeps.

/* spin-check: cc="-O0 -DSAFETY" expect=pass */
/* Mistakes that must show. */
/* The write that takes the last receive does not say so. */
/* spin-check: spin="-DLAST_LIKE_OTHERS" cc="-DSAFETY" expect=fail error="invalid end state" */
/* A write whose completion is polled behind a newer word counts as the last that was heard. */
/* spin-check: spin="-DOLD_WRITES_COUNT" cc="-DSAFETY" expect=fail error="invalid end state" */
/* Who was told by a word sleeps without asking. */
/* spin-check: spin="-DSLEEP_UNASKED" cc="-DSAFETY" expect=fail error="invalid end state" */
/* The sender does not ring for a word. */
/* spin-check: spin="-DNO_BELL" cc="-DSAFETY" expect=fail error="invalid end state" */
/* The receiver tells of a receive before it has posted it again. */
/* spin-check: spin="-DTELL_FIRST" cc="-DSAFETY" expect=fail error="assertion violated" */

#define SENDS 6
#define RECEIVES 2

/* The receiver's memory: the count that was told by words, and completions that were not polled,
   with their count, and whether the write took the last receive that the sender knew of. */
byte word;
chan completions = [RECEIVES] of { byte, bit };
byte posted = RECEIVES;   /* receives */
/* The sender's memory. */
byte heard, armed;        /* written by the receiver */
byte published;
bit bell;

active proctype Sender() {
  byte sent, left, known, now, answered;
  do
  :: sent == SENDS -> break
  :: else ->
    sent++;
    if :: RECEIVES - (left - known) <= 1 -> known = heard :: else fi;
    if
    :: left - known < RECEIVES ->
      atomic {
        assert(posted > 0);
        posted--;
#ifdef LAST_LIKE_OTHERS
        completions ! sent, 0;
#else
        completions ! sent, (RECEIVES - (left - known) == 1);
#endif
      }
      left++;
      published = sent
    :: else ->
      word = sent;
      published = sent;
#ifndef NO_BELL
      now = armed;
      if :: now != answered -> bell = 1; answered = now :: else fi
#endif
    fi
  od
}

active proctype Receiver() {
  byte arrived, came, count, answer, number;
  bit last, asks, bell_came = 1;
  do
  :: arrived == SENDS -> break
  :: else ->
    if
    /* A completion. Credits go back now, or with a later one. */
    :: completions ? count, last ->
      came++;
#ifdef TELL_FIRST
      heard = came;
#endif
      posted++;
      if :: heard = came :: true fi;
#ifdef OLD_WRITES_COUNT
      asks = (count > arrived -> last : 0);
#endif
      if :: count > arrived -> arrived = count; asks = last :: else fi
    /* The word, which is seen at once. */
    :: word > arrived -> arrived = word; asks = 1
    /* It falls asleep. */
    :: empty(completions) && word <= arrived ->
#ifdef SLEEP_UNASKED
      asks = 0;
#endif
      if
      :: asks ->
        if :: bell_came -> number++; bell_came = 0 :: else fi;
        heard = came;
        armed = number;
        answer = published
      :: else -> answer = arrived
      fi;
      if
      :: answer > arrived   /* It looks again. */
      :: else ->
        if
        :: nempty(completions)
        :: bell -> bell = 0; bell_came = 1
        fi
      fi
    fi
  od
}
