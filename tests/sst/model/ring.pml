// SPDX-License-Identifier: MIT
// The ring of one sender at two receivers: when a slot may be filled again.
/* The subject: RingSender, RingFormat and the counters of MulticastCore. A sender builds N messages
   in its own copy of a ring of W slots, and posts what it has built, one or more at a time. A
   device for each receiver carries it over late: what it places is what is in the sender's slot at
   that moment. A receiver looks at the word of the next slot, reads the message in two steps, and
   says later, by a counter, how many slots it is done with. The sender fills slots again that all
   receivers are done with.
   - Default: messages, then words, by two writes; each write's lines come in any order.
   - With IN_LINE, a message and its word are one line, which comes in ascending order; the lines of
     a write come in any order.
   - With DEATH, receiver 1 may die at any moment; the sender learns of it at any later one, is cut
     off from it, and goes on.
   Checked: a receiver reads message n as the n-th, whole, though slots are used several times; and
   the sender comes to its end.

   The mutants, which must fail:
   MUTANT_FASTEST: slots go back when the fastest receiver is done.
   MUTANT_EARLY: a receiver says that it is done before it has read all of the message.
   MUTANT_WORD_FIRST: words are written before messages.
   MUTANT_ANY_WORD: the number in a word is not looked at.
   MUTANT_WAITS: the sender waits for the dead. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DIN_LINE" cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DDEATH" cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DIN_LINE -DDEATH" cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DMUTANT_FASTEST" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_EARLY" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_WORD_FIRST" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DIN_LINE -DMUTANT_WORD_FIRST" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_ANY_WORD" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DDEATH -DMUTANT_WAITS" cc="-DSAFETY" expect=fail error="invalid end" */

#define W 2
#define N 5
#define R 2

typedef Ring { byte data[W]; byte word[W] };
Ring own;      /* the sender's copy */
Ring ring[R];  /* that of each receiver */
chan wire0 = [W] of { byte, byte };  /* from, to */
chan wire1 = [W] of { byte, byte };
byte told[R];  /* the receivers' counters, as the sender sees them */
bool dead[R];
bool cut[R];   /* the sender has given it up */

#ifdef MUTANT_WAITS
#define COUNTS(r) 1
#else
#define COUNTS(r) (!cut[r])
#endif
#ifdef MUTANT_FASTEST
#define SLOWEST (told[0] > told[1] -> told[0] : told[1])
#else
#define SLOWEST (!COUNTS(1) || told[0] < told[1] -> told[0] : told[1])
#endif

active proctype sender() {
  byte committed, posted, taken;
  do
  :: committed < N && committed - taken < W ->
     own.data[committed % W] = committed + 1;
     own.word[committed % W] = committed + 1;
     committed++
  :: posted < committed ->
     wire0!posted, committed;
     if
     :: cut[1]
     :: else -> wire1!posted, committed
     fi;
     posted = committed
  :: taken < SLOWEST -> taken = SLOWEST
#ifdef DEATH
  :: dead[1] && !cut[1] -> cut[1] = true
#endif
  :: taken == N -> break
  od
}

/* Places lines first to last - 1 of one write in any order. */
inline place(first, last, messages, words) {
  done = 0;
  do
  :: done != (1 << (last - first)) - 1 ->
     if
     :: !(done & 1) -> at = 0
     :: last - first > 1 && !(done & 2) -> at = 1
     fi;
     done = done | (1 << at);
     at = (first + at) % W;
     if :: messages -> ring[r].data[at] = own.data[at] :: else fi;
     if :: words -> ring[r].word[at] = own.word[at] :: else fi
  :: else -> break
  od
}
inline place_word_first(first, last) {
  done = 0;
  do
  :: done < last - first ->
     at = (first + done) % W;
     ring[r].word[at] = own.word[at];
     ring[r].data[at] = own.data[at];
     done++
  :: else -> break
  od
}

proctype device(byte r; chan wire) {
  byte first, last, at, done;
end:
  do
  :: wire?first, last ->
     if
     :: cut[r]
     :: else ->
#ifdef IN_LINE
#ifdef MUTANT_WORD_FIRST
        place_word_first(first, last)
#else
        place(first, last, true, true)
#endif
#else
#ifdef MUTANT_WORD_FIRST
        place(first, last, false, true);
        place(first, last, true, false)
#else
        place(first, last, true, false);
        place(first, last, false, true)
#endif
#endif
     fi
  od
}

#ifdef MUTANT_ANY_WORD
#define HOLDS(word, n) ((word) != 0)
#else
#define HOLDS(word, n) ((word) == (n) + 1)
#endif

proctype receiver(byte r) {
  byte n;
  do
  :: n < N && HOLDS(ring[r].word[n % W], n) ->
     assert(ring[r].data[n % W] == n + 1);
#ifdef MUTANT_EARLY
     told[r] = n + 1;
#endif
     assert(ring[r].data[n % W] == n + 1);
     n++
  :: told[r] < n -> told[r] = n
#ifdef DEATH
  :: r == 1 -> dead[r] = true; break
#endif
  :: n == N && told[r] == N -> break
  od
}

init {
  atomic {
    run device(0, wire0);
    run device(1, wire1);
    run receiver(0);
    run receiver(1)
  }
}
