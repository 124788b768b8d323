// SPDX-License-Identifier: MIT
// Slots of a bucket: one-sided inserts and updates, a rebuild by the home, and a writer given up.
/* The subject: attempt.hpp, examine.hpp and Home. Two writers insert the same key by one-sided
   operations, and then exchange its value, 1, each for another one. (An update is an exchange that
   expects the value that it has seen.) The home rebuilds the bucket once, into other memory.
   It may give one writer up at any step: then it cuts the connection, and takes the writer's slots;
   the writer, which goes on, finds at its next operation that it is cut off, as one that has died
   would end. A reader looks LOOKS times. The key's value grows, 0 means that it is missing.

   A write brings the slot word, then the cell. A cell counts when its check fits the version. A
   look brings a cell, the word and the other cell, and if no cell counts, the word again.

   Checked: a look sees no older value than the last that was acknowledged before it began; nobody
   inserts twice, or exchanges the same value twice; the key never has two slots with a value in the
   bucket of the directory; what was acknowledged is there in the end; nobody waits forever.

   The mutants, which must fail:
   MUTANT_NO_FENCE: slots are taken from a writer that is not cut off.
   MUTANT_FREEZE_HELD: the rebuild freezes slots that a writer holds.
   MUTANT_TRUST_FROZEN: what a reader saw in a frozen slot counts, whatever the directory says.
   MUTANT_ANY_SLOT: an insert claims any empty slot, not the first one.
   MUTANT_ONE_CELL: an update writes the cell that has the value.
   MUTANT_NO_SECOND_LOOK: a look that finds no whole cell does not look at the word again.
   MUTANT_ANY_VERSION: an exchange locks the slot though it has changed since its look. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000" run="-m100000" expect=pass */
/* spin-check: spin="-DMUTANT_NO_FENCE" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_FREEZE_HELD" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_TRUST_FROZEN" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_ANY_SLOT" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_ONE_CELL" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_SECOND_LOOK" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_ANY_VERSION" cc="-DSAFETY" expect=fail error="assertion" */

#define SLOTS 2
#define LOOKS 2
#define NOBODY 9

#define EMPTY 0
#define CLAIMED 1
#define LIVE 2
#define DEAD 3

typedef Slot {
  byte state;
  byte owner;
  byte version;
  bit cell;
  bit locked;
  bit frozen;
  byte value[2];
  byte check[2]
};
/* Bucket b has the slots 2b and 2b + 1. */
Slot slots[4];
byte directory;
byte acknowledged;
byte inserts;
byte exchanges;
byte given_up = NOBODY;
bool cut[2];
byte ended;

#define WHOLE(i) (slots[i].check[slots[i].cell] == slots[i].version)
#define OLD_WHOLE(i) \
  (slots[i].version > 1 && slots[i].check[1 - slots[i].cell] == slots[i].version - 1)
#define HELD(i) \
  (slots[i].state == CLAIMED || slots[i].locked || (slots[i].state == LIVE && !WHOLE(i)))
#define REPAIRABLE(i) (HELD(i) && slots[i].owner == given_up)

/* The write that ends an insert or update: two steps, each of which a cut prevents. */
inline write(i, number, new_version, new_cell) {
  atomic {
    if
    :: cut[me] -> goto gone
    :: else
    fi;
    slots[i].state = LIVE;
    slots[i].owner = me;
    slots[i].version = new_version;
    slots[i].cell = new_cell;
    slots[i].locked = 0
  }
  atomic {
    if
    :: cut[me] -> goto gone
    :: else
    fi;
    slots[i].value[new_cell] = number;
    slots[i].check[new_cell] = new_version
  }
}

proctype Writer(byte me) {
  byte b, s, i, v;
  bit c;
  b = directory;
insert:
  s = 0;
#ifdef MUTANT_ANY_SLOT
  if
  :: s = 0
  :: s = 1
  fi;
#endif
  do
  :: atomic {
       assert(s < SLOTS);
       i = 2 * b + s;
       if
       :: cut[me] -> goto gone
       :: else
       fi;
       if
       :: slots[i].frozen -> goto rebuilt
       :: !slots[i].frozen && slots[i].state == EMPTY ->
          slots[i].state = CLAIMED;
          slots[i].owner = me;
          break
       :: !slots[i].frozen && slots[i].state == DEAD -> s++
       :: !slots[i].frozen && (slots[i].state == CLAIMED || slots[i].state == LIVE) ->
          if
          :: slots[i].state == LIVE && (WHOLE(i) || OLD_WHOLE(i)) -> goto known
          :: else /* its writer is about to write, or is given up and repaired */
          fi
       fi
     };
     if
     :: (slots[i].frozen || slots[i].state == EMPTY || slots[i].state == DEAD ||
         (slots[i].state == LIVE && (WHOLE(i) || OLD_WHOLE(i)))) || cut[me]
     fi
  od;
  write(i, 1, 1, 0);
  atomic {
    inserts++;
    assert(inserts == 1);
    if
    :: acknowledged < 1 -> acknowledged = 1
    :: else
    fi
  }
known:
  /* The exchange: the slot is the same as long as the bucket is. */
update:
  s = 0;
  do
  :: atomic {
       assert(s < SLOTS);
       i = 2 * b + s;
       if
       :: cut[me] -> goto gone
       :: else
       fi;
       if
       :: slots[i].frozen -> goto rebuilt_update
       :: !slots[i].frozen && slots[i].state == LIVE && !slots[i].locked && WHOLE(i) ->
          v = slots[i].version;
          c = slots[i].cell;
          if
          :: slots[i].value[c] != 1 -> goto gone
          :: else -> break
          fi
       :: !slots[i].frozen && (slots[i].state == DEAD || slots[i].state == EMPTY) -> s++
       :: else -> skip
       fi
     };
     (slots[i].frozen || !HELD(i) || cut[me])
  od;
  /* The compare-and-swap of the slot word that was seen. */
  atomic {
    if
    :: cut[me] -> goto gone
    :: else
    fi;
    if
#ifdef MUTANT_ANY_VERSION
    :: !slots[i].frozen && slots[i].state == LIVE && !slots[i].locked ->
#else
    :: !slots[i].frozen && slots[i].state == LIVE && !slots[i].locked && slots[i].version == v ->
#endif
       slots[i].locked = 1;
       slots[i].owner = me
    :: else -> goto update
    fi
  }
#ifdef MUTANT_ONE_CELL
  write(i, 2 + me, v + 1, c);
#else
  write(i, 2 + me, v + 1, 1 - c);
#endif
  atomic {
    exchanges++;
    assert(exchanges == 1);
    acknowledged = 2 + me
  }
  goto gone;
rebuilt:
  (directory != b || cut[me]);
  b = directory;
  goto insert;
rebuilt_update:
  (directory != b || cut[me]);
  b = directory;
  goto update;
gone:
  ended++
}

/* Takes slot i from the writer that was given up. */
inline repair(i) {
#ifndef MUTANT_NO_FENCE
  cut[given_up] = true;
#endif
  atomic {
    if
    :: REPAIRABLE(i) ->
       if
       :: slots[i].state == CLAIMED -> slots[i].state = DEAD
       :: slots[i].state == LIVE && slots[i].locked -> slots[i].locked = 0
       :: slots[i].state == LIVE && !slots[i].locked && OLD_WHOLE(i) ->
          slots[i].value[slots[i].cell] = slots[i].value[1 - slots[i].cell];
          slots[i].version = slots[i].version + 1;
          slots[i].check[slots[i].cell] = slots[i].version
       :: else -> slots[i].state = DEAD
       fi;
       slots[i].owner = NOBODY
    :: else
    fi
  }
}

proctype Home() {
  byte k, to;
  bool rebuilt = false;
  do
  :: atomic { given_up == NOBODY -> given_up = 0 }
  :: atomic { given_up == NOBODY -> given_up = 1 }
  :: REPAIRABLE(0) -> repair(0)
  :: REPAIRABLE(1) -> repair(1)
  :: REPAIRABLE(2) -> repair(2)
  :: REPAIRABLE(3) -> repair(3)
  :: !rebuilt ->
     /* Freezing: it goes on where a slot is not held. */
     if
     :: k < SLOTS ->
        atomic {
          if
#ifdef MUTANT_FREEZE_HELD
          :: slots[k].frozen = 1; k++
#else
          :: !HELD(k) -> slots[k].frozen = 1; k++
          :: HELD(k) -> skip
#endif
          fi
        }
     :: k == SLOTS ->
        d_step {
          to = 2;
          k = 0;
          do
          :: k < SLOTS ->
             if
             :: slots[k].state == LIVE ->
                slots[to].state = LIVE;
                slots[to].owner = NOBODY;
                slots[to].version = 1;
                slots[to].cell = 0;
                slots[to].check[0] = 1;
                slots[to].value[0] = slots[k].value[slots[k].cell];
                to++
             :: else
             fi;
             k++
          :: else -> break
          od
        }
        directory = 1;
        rebuilt = true
     fi
  :: ended == 2 && rebuilt && !REPAIRABLE(2) && !REPAIRABLE(3) -> break
  od;
  assert(slots[2].state != LIVE || slots[3].state != LIVE);
  assert(acknowledged == 0 ||
         (slots[2].state == LIVE && slots[2].value[slots[2].cell] >= acknowledged) ||
         (slots[3].state == LIVE && slots[3].value[slots[3].cell] >= acknowledged))
}

proctype Reader() {
  byte looks, b, s, i, seen, least, v, owner, check[2], value[2];
  bit c;
  bool frozen, live, locked;
  b = directory;
  do
  :: looks == LOOKS -> break
  :: looks < LOOKS ->
     least = acknowledged;
again:
     seen = 0;
     s = 0;
     frozen = false;
     do
     :: s == SLOTS -> break
     :: s < SLOTS ->
        i = 2 * b + s;
        /* One cell, the word and the other cell, some time later each. */
        atomic { check[1] = slots[i].check[1]; value[1] = slots[i].value[1] }
        atomic {
          frozen = frozen || slots[i].frozen;
          live = slots[i].state == LIVE;
          v = slots[i].version;
          c = slots[i].cell;
          owner = slots[i].owner;
          locked = slots[i].locked;
          if
          :: slots[i].state == EMPTY -> s = SLOTS
          :: else -> s++
          fi
        }
        if
        :: live ->
           atomic { check[0] = slots[i].check[0]; value[0] = slots[i].value[0] }
           if
           :: check[c] == v -> seen = value[c]; s = SLOTS
           :: else ->
#ifndef MUTANT_NO_SECOND_LOOK
              if
              :: atomic {
                   slots[i].version != v || slots[i].locked != locked ||
                       slots[i].owner != owner || slots[i].frozen -> goto again
                 }
              :: else
              fi;
#endif
              if
              :: v > 1 && check[1 - c] == v - 1 -> seen = value[1 - c]; s = SLOTS
              :: v == 1 -> skip
              :: else -> goto again
              fi
           fi
        :: else
        fi
     od;
#ifndef MUTANT_TRUST_FROZEN
     if
     :: frozen && directory != b -> b = directory; goto again
     :: else
     fi;
#endif
     assert(seen >= least);
     looks++
  od
}

init {
  atomic {
    run Writer(0);
    run Writer(1);
    run Home();
    run Reader()
  }
}
