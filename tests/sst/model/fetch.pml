// SPDX-License-Identifier: MIT
// SST-reads: rows land in a place of their own and are copied from there; nothing goes back.
/* The subject: TableCore::refresh, and Versioned<T> (versioned.hpp) on its way from the owner's row
   through a landing place to the copy that readers look at, beside a plain word.
   - The owner stores WRITES values, as Versioned::store does, and the plain word after each.
   - The device fetches the row line by line, the lines in any order, the words of a line in
     ascending or in descending order. One fetch is under way at a time.
   - The evaluating thread copies what has landed: Versioned::copy_if_newer, and the plain word.
   - A reader, another thread of that process, looks at the copy as Versioned::load does.
   Checked: what is copied and what is read is one write, whole; neither goes back, nor does the
   plain word. In two parts, because all at once is too much: the fetches, without the reader; and,
   with READER, what the reader sees of values that are copied whole, some of them skipped (the
   owner stores each at once, and the fetches take it at once).

   The mutants, which must fail:
   MUTANT_ANY_WHOLE: `read` takes the newest whole slot, whatever it has seen of a newer write.
   MUTANT_BARE: the owner's stores do not mark the slot first. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DREADER" cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DREADER -DMUTANT_ANY_WHOLE" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_BARE" cc="-DSAFETY" expect=fail error="assertion" */

#ifdef READER
#define WRITES 4
#define FETCHES 3
#define AT_ONCE d_step
#else
#define WRITES 3
#define FETCHES 2
#define AT_ONCE
#endif
#define LOOKS 2
#define MARK 16 /* the write in progress: its number + MARK */

typedef Slot { byte front; byte low; byte high; byte back };
Slot own[2], landing[2], copy[2];
byte own_plain, landing_plain, copy_plain;

/* Versioned::store. */
#ifdef MUTANT_BARE
#define MARK_SLOT(slots, n) skip
#else
#define MARK_SLOT(slots, n) slots[(n) % 2].front = n + MARK; slots[(n) % 2].back = n + MARK
#endif
#define PUT(slots, n, a, b) \
  MARK_SLOT(slots, n); \
  slots[(n) % 2].low = a; \
  slots[(n) % 2].high = b; \
  slots[(n) % 2].back = n; \
  slots[(n) % 2].front = n

#define NUMBER(version) ((version) >= MARK -> (version) - MARK : (version))

/* One slot as Versioned::read judges it. */
#define JUDGE(f, a, b, k) \
  seen = (NUMBER(f) > seen -> NUMBER(f) : seen); \
  seen = (NUMBER(k) > seen -> NUMBER(k) : seen); \
  if \
  :: f == k && f < MARK && (!whole || f > number) -> \
     whole = true; number = f; value_low = a; value_high = b \
  :: else \
  fi
#ifdef MUTANT_ANY_WHOLE
#define ACCEPTED whole
#else
#define ACCEPTED (whole && number + 1 >= seen)
#endif

active proctype owner() {
  byte n = 0;
  do
  :: n < WRITES ->
     n++;
     AT_ONCE { PUT(own, n, n, n) };
     own_plain = n
  :: else -> break
  od
}

#define FETCH_ASCENDING(s) \
  landing[s].front = own[s].front; \
  landing[s].low = own[s].low; \
  landing[s].high = own[s].high; \
  landing[s].back = own[s].back

inline fetch_line(s) {
  if
  :: FETCH_ASCENDING(s)
  :: landing[s].back = own[s].back;
     landing[s].high = own[s].high;
     landing[s].low = own[s].low;
     landing[s].front = own[s].front
  fi
}

active proctype evaluator() {
  byte fetches, last, seen, number, value_low, value_high, newest;
  bool whole;
  do
  :: fetches < FETCHES ->
     fetches++;
#ifdef READER
     d_step { FETCH_ASCENDING(0); FETCH_ASCENDING(1); landing_plain = own_plain };
#else
     if
     :: fetch_line(0); fetch_line(1); landing_plain = own_plain
     :: fetch_line(1); fetch_line(0); landing_plain = own_plain
     :: landing_plain = own_plain; fetch_line(0); fetch_line(1)
     fi;
#endif
     /* Nobody else touches the landing place now, and only this process writes the copy. */
     d_step {
       seen = 0; number = 0; whole = false;
       JUDGE(landing[0].front, landing[0].low, landing[0].high, landing[0].back);
       JUDGE(landing[1].front, landing[1].low, landing[1].high, landing[1].back);
       newest = (copy[0].front > copy[1].front -> copy[0].front : copy[1].front);
       if
       :: ACCEPTED -> assert(value_low == number && value_high == number)
       :: else -> number = 0
       fi;
       assert(number == 0 || number >= last);
       last = (number > last -> number : last)
     };
     if
     :: number > newest -> PUT(copy, number, value_low, value_high)
     :: else
     fi;
     copy_plain = landing_plain
  :: else -> break
  od
}

#ifdef READER
active proctype reader() {
  byte looks, s, front, low, high, back, seen, number, value_low, value_high, last, last_plain;
  bool whole;
  do
  :: looks < LOOKS ->
     looks++;
     d_step { seen = 0; number = 0; whole = false; s = 0 };
     do
     :: s < 2 ->
        back = copy[s].back;
        high = copy[s].high;
        low = copy[s].low;
        front = copy[s].front;
        d_step { JUDGE(front, low, high, back); s++ }
     :: else -> break
     od;
     if
     :: ACCEPTED ->
        assert(value_low == number && value_high == number);
        assert(number >= last);
        last = number
     :: else
     fi;
     d_step { assert(copy_plain >= last_plain); last_plain = copy_plain }
  :: else -> break
  od
}
#endif
