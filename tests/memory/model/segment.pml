// SPDX-License-Identifier: MIT
// A segment of global memory: writers from afar and at home, readers of all modes, and deaths.
/* The subject: apps/memory/src, the layout in order, one segment of two words:

     lock { writer, readers, subscribed } | version | data, data | back

   - A writer from afar (ClientState::write_one_sided) takes the lock, waits for readers to leave,
     marks the back, writes the data, the version, the back, and unlocks. It may die at each step.
     It leaves a segment that has subscribers to the home, so it is not there beside one.
   - The home writes (Home::write_locked): it tells the subscriber the new version first.
   - The validated reader fetches version, data, back in this order.
   - The cached reader compares the version; on a miss it takes the shared lock, fetches, unlocks.
     It may die at each step.
   - The subscribed reader looks at its word, and fetches like a validated one on a miss.
   - The home repairs after a death, when nothing of the dead arrives any more.
   A read looks once, and gives up where the real one would try again.
   Checked: a value is whole; it is not older than what was answered to a writer, or seen by any
   reader, before the read began; nobody waits forever for the lock.

   The mutants, which must fail:
   MUTANT_NO_MARK: writers do not mark the back.
   MUTANT_VERSION_FIRST: writers write the version before the data.
   MUTANT_LATE_PUSH: the home tells the subscriber after it has published.
   MUTANT_NO_REPAIR: the home does not take the locks of the dead.
   MUTANT_BELIEVES_DATA: the repair takes data for whole that were not.
   MUTANT_HIT_UNSEEN: the cached reader does not compare versions. */
/* spin-check: cc="-DSAFETY -DMEMLIM=3000" expect=pass */
/* spin-check: spin="-DSUBSCRIBER" cc="-DSAFETY -DMEMLIM=3000" expect=pass */
/* spin-check: spin="-DMUTANT_NO_MARK" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_VERSION_FIRST" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_REPAIR" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_BELIEVES_DATA" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_HIT_UNSEEN" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DSUBSCRIBER -DMUTANT_LATE_PUSH" cc="-DSAFETY" expect=fail error="assertion" */

#define BUSY 64
#define DAMAGED 128
#define NUMBER(version) ((version) % 64)
#define FAR 1
#define HOME 2
#ifdef SUBSCRIBER
#define WRITES 2
#else
#define WRITES 1
#endif

byte writer = 0;  /* of the lock word: 0, FAR or HOME */
bit reading = 0;  /* of the lock word: the cached reader's bit */
byte version = 1, data0 = 1, data1 = 1, back = 1;
byte answered = 1;  /* the newest version whose writer knows that it was written */
byte seen = 1;      /* the newest version that a read has given */
bool far_dead = false, reader_dead = false, far_over = false, reader_over = false;
bool far_cut = false, reader_cut = false; /* the home has repaired */
#ifdef SUBSCRIBER
byte word = 1; /* in the memory of the subscriber */
#define PUSH(n) word = n
#else
#define PUSH(n) skip
#endif

#define RAISE(to, n) to = ((n) > to -> (n) : to)
#define FLOOR (answered > seen -> answered : seen)

/* A step after which the process may be dead. */
#define MAY_DIE(flag) \
  if \
  :: skip \
  :: flag = true; goto over \
  fi

#ifdef MUTANT_NO_MARK
#define MARK(n) skip
#else
#define MARK(n) back = (n) + BUSY
#endif
#ifdef MUTANT_VERSION_FIRST
#define EARLY(n) version = n
#else
#define EARLY(n) skip
#endif

/* A read has given the version `v` with the data `a`, `b`. */
#define GIVES(v, a, b, floor) \
  d_step { \
    assert(a == b && a == v); \
    assert(v >= floor); \
    RAISE(seen, v) \
  }

#ifdef SUBSCRIBER
active proctype no_writer_from_afar() { far_over = true }
#else
active proctype writer_from_afar() {
  byte now, next;
  atomic { writer == 0 -> writer = FAR }
  MAY_DIE(far_dead);
  !reading;
  now = version;
  next = NUMBER(now) + 1;
  /* A damaged segment too: the whole of it is written. */
  MARK(NUMBER(now));
  MAY_DIE(far_dead);
  EARLY(next);
  data0 = next;
  MAY_DIE(far_dead);
  data1 = next;
  MAY_DIE(far_dead);
  version = next;
  MAY_DIE(far_dead);
  back = next;
  MAY_DIE(far_dead);
  writer = 0;
  RAISE(answered, next);
over:
  far_over = true
}
#endif

active proctype home_writes() {
  byte now, next, times;
  do
  :: times < WRITES ->
    atomic { writer == 0 -> writer = HOME }
    !reading;
    now = version;
    next = NUMBER(now) + 1;
#ifndef MUTANT_LATE_PUSH
    PUSH(next);
#endif
    MARK(NUMBER(now));
    EARLY(next);
    data0 = next;
    data1 = next;
    version = next;
    back = next;
#ifdef MUTANT_LATE_PUSH
    PUSH(next);
#endif
    writer = 0;
    RAISE(answered, next);
    times++
  :: else -> break
  od
}

/* Home::repair_after, once for each of the two. */
active proctype home_repairs() {
#ifdef MUTANT_NO_REPAIR
  skip
#else
  do
  :: far_dead && !far_cut ->
    if
    :: writer == FAR ->
      if
      :: back >= BUSY && back < DAMAGED && back - BUSY == NUMBER(version) ->
#ifdef MUTANT_BELIEVES_DATA
        back = version
#else
        version = NUMBER(version) + 1 + DAMAGED;
        back = version
#endif
      :: else -> back = version
      fi;
      writer = 0
    :: else
    fi;
    far_cut = true
  :: reader_dead && !reader_cut -> reading = 0; reader_cut = true
  :: far_over && reader_over && far_dead == far_cut && reader_dead == reader_cut -> break
  od
#endif
}

active proctype validated_reader() {
  byte v, a, b, k, floor, looks;
  do
  :: looks < 1 ->
    floor = FLOOR;
    v = version;
    a = data0;
    b = data1;
    k = back;
    if
    :: v == k && v < BUSY -> GIVES(v, a, b, floor)
    :: else
    fi;
    looks++
  :: else -> break
  od
}

#ifdef SUBSCRIBER
/* Not beside the subscriber: both at once are too much. */
active proctype no_cached_reader() { reader_over = true }
#else
active proctype cached_reader() {
  byte v, a, b, floor, looks;
  byte cached = 0, cached0, cached1;
  do
  :: looks < 2 ->
    floor = FLOOR;
    v = version;
    if
#ifdef MUTANT_HIT_UNSEEN
    :: cached != 0 -> GIVES(cached, cached0, cached1, floor)
#else
    :: v == cached -> GIVES(cached, cached0, cached1, floor)
#endif
    :: else ->
      /* The miss: one atomic, and what it finds. */
      atomic {
        reading = 1;
        a = writer
      }
      MAY_DIE(reader_dead);
      if
      :: a != 0 -> reading = 0
      :: else ->
        v = version;
        a = data0;
        b = data1;
        MAY_DIE(reader_dead);
        reading = 0;
        if
        :: v < BUSY ->
          d_step { cached = v; cached0 = a; cached1 = b }
          GIVES(v, a, b, floor)
        :: else
        fi
      fi
    fi;
    looks++
  :: else -> break
  od;
over:
  reader_over = true
}
#endif

#ifdef SUBSCRIBER
active proctype subscribed_reader() {
  byte v, a, b, k, floor, looks;
  byte cached = 1, cached0 = 1, cached1 = 1;
  do
  :: looks < 2 ->
    floor = FLOOR;
    if
    :: word == cached -> GIVES(cached, cached0, cached1, floor)
    :: else ->
      v = version;
      a = data0;
      b = data1;
      k = back;
      if
      :: v == k && v < BUSY ->
        d_step { cached = v; cached0 = a; cached1 = b }
        GIVES(v, a, b, floor)
      :: else
      fi
    fi;
    looks++
  :: else -> break
  od
}
#endif
