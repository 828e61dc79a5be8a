/**
 * The state table (contract §3 and §4.3) as text: every command in every situation, with what is answered and what the record becomes
 * (`=`: nothing changed, to the last field). Two tests read it: one against the pure machine, one against every store.
 */

import assert from 'node:assert/strict';

/** What a record may be like when a command meets it; `pending` is reached only where a store has hand-overs. */
export const SITUATIONS: readonly string[] =
  `absent in_progress over over-resume given-up given-up-resume vacated completed failed retryable unknown exhausted
   settled-completed settled-failed settled-retryable reopened reopened-later forgotten forgotten-later tombstone purgeable
   erased-completed erased-failed stepped stepped-unknown`.split(/\s+/);

/**
 * `over`: in progress, its claim ended without a word; `over-resume`: as well, of a way that may resume. `given-up`,
 * `given-up-resume`: the same after the sweeper came by. `vacated`: given back, because nothing is to run there. `exhausted`: failed for want of attempts. `reopened`, `forgotten`: while its answer may still be replayed elsewhere;
 * `-later`: after that time. `erased-completed`, `erased-failed`: emptied, for ever. `stepped`: retryable, with steps;
 * `stepped-unknown`: as well, and unknown because code did not know them. `tombstone`: completed, past its retention; `purgeable`: past its time as a tombstone too.
 */
const STATE_TABLE = `
claim
  absent, purgeable, forgotten-later, vacated       claimed 1           in_progress
  in_progress, reopened, forgotten                  found in-progress   =
  over                                              found unknown       unknown
  over-resume                                       claimed 2           in_progress
  retryable, settled-retryable, reopened-later      claimed 2           in_progress
  given-up-resume, stepped, stepped-unknown         claimed 2           in_progress
  completed, failed                                 found final         =
  erased-completed, erased-failed                   found final         =
  settled-completed, settled-failed                 found final         =
  exhausted                                         found exhausted     =
  unknown, given-up                                 found unknown       =
  pending                                           found pending       =
  tombstone                                         found expired       =

claim by code that knows no steps
  absent, purgeable, forgotten-later, vacated       claimed 1           in_progress
  in_progress, reopened, forgotten                  found in-progress   =
  over, stepped                                     found unknown       unknown
  over-resume                                       claimed 2           in_progress
  retryable, settled-retryable, reopened-later      claimed 2           in_progress
  given-up-resume                                   claimed 2           in_progress
  exhausted                                         found exhausted     =
  unknown, given-up, stepped-unknown                found unknown       =
  pending                                           found pending       =
  tombstone                                         found expired       =
  otherwise                                         found final         =

claim by a worker that knows no steps
  absent, purgeable, forgotten-later                claimed 1           in_progress
  in_progress, reopened, forgotten                  found in-progress   =
  over                                              found unknown       unknown
  over-resume                                       claimed 2           in_progress
  retryable, settled-retryable, reopened-later      claimed 2           in_progress
  given-up-resume, vacated                          claimed 2           in_progress
  exhausted                                         found exhausted     =
  unknown, given-up, stepped, stepped-unknown       found unknown       =
  pending                                           found pending       =
  tombstone                                         found expired       =
  otherwise                                         found final         =

claim for a pointer
  absent, purgeable, forgotten-later, vacated       claimed 1           in_progress
  in_progress, over, over-resume                    found in-progress   =
  reopened, reopened-later, forgotten               found in-progress   =
  retryable, settled-retryable, given-up-resume     found in-progress   =
  stepped                                           found in-progress   =
  exhausted                                         found exhausted     =
  unknown, given-up, stepped-unknown                found unknown       =
  pending                                           found pending       =
  tombstone                                         found expired       =
  otherwise                                         found final         =

claim again with its own claimId
  absent, forgotten-later                           claimed 1           in_progress
  forgotten                                         found in-progress   =
  in_progress, over, over-resume                    claimed 1           =
  erased-completed, erased-failed                   found final         =
  otherwise                                         found spent         =

claim for another body
  absent, purgeable, forgotten-later, vacated       claimed 1           in_progress
  forgotten                                         found in-progress   =
  tombstone                                         found expired       =
  erased-completed, erased-failed                   found final         =
  otherwise                                         found mismatch      =

claim with a fingerprint made another way
  absent, purgeable, forgotten-later, vacated       claimed 1           in_progress
  forgotten                                         found in-progress   =
  tombstone                                         found expired       =
  erased-completed, erased-failed                   found final         =
  otherwise                                         found other-label   =

claim by older code
  absent                                            claimed 1           in_progress
  otherwise                                         found newer-format  =

claim where one attempt is allowed
  absent, purgeable, forgotten-later, vacated       claimed 1           in_progress
  in_progress, reopened, forgotten                  found in-progress   =
  over, unknown, given-up, stepped                  found unknown       unknown
  over-resume, given-up-resume, retryable           found exhausted     failed
  settled-retryable, reopened-later                 claimed 2           in_progress
  stepped-unknown                                   claimed 2           in_progress
  exhausted                                         found exhausted     =
  pending                                           found pending       =
  tombstone                                         found expired       =
  otherwise                                         found final         =

renew
  in_progress, over, over-resume, given-up          renewed             in_progress
  otherwise                                         lost                =

checkpoint
  in_progress, over, over-resume, given-up          applied             in_progress
  otherwise                                         refused             =

hand over
  in_progress, over, over-resume                    applied             pending
  pending                                           already             =
  otherwise                                         refused             =

finish completed
  in_progress, over, over-resume, unknown           applied             completed
  given-up, given-up-resume                         applied             completed
  retryable, settled-retryable, vacated             applied             completed
  stepped, stepped-unknown                          applied             completed
  completed, tombstone, purgeable                   already             =
  otherwise                                         refused             =

finish failed
  in_progress, over, over-resume, unknown           applied             failed
  given-up, given-up-resume                         applied             failed
  retryable, settled-retryable, vacated             applied             failed
  stepped, stepped-unknown                          applied             failed
  failed                                            already             =
  otherwise                                         refused             =

finish retryable
  in_progress, over, over-resume, unknown           applied             retryable
  given-up, given-up-resume                         applied             retryable
  retryable, stepped, vacated                       already             =
  settled-retryable, stepped-unknown                applied             retryable
  otherwise                                         refused             =

finish unknown
  in_progress, over, over-resume                    applied             unknown
  given-up, given-up-resume                         applied             unknown
  retryable, settled-retryable, vacated             applied             unknown
  stepped, stepped-unknown                          applied             unknown
  unknown                                           already             =
  otherwise                                         refused             =

settle completed
  unknown, given-up, stepped-unknown                applied             completed
  settled-completed                                 already             =
  otherwise                                         refused             =

settle failed
  unknown, given-up, stepped-unknown                applied             failed
  settled-failed                                    already             =
  otherwise                                         refused             =

settle retryable
  unknown, given-up, stepped-unknown                applied             retryable
  settled-retryable                                 already             =
  otherwise                                         refused             =

reopen
  failed, exhausted, settled-failed                 applied             retryable
  settled-retryable, reopened, reopened-later       already             =
  otherwise                                         refused             =

forget
  absent, forgotten, forgotten-later                already             =
  in_progress, over, over-resume, unknown, pending  refused             =
  given-up, erased-completed, erased-failed         refused             =
  stepped-unknown                                   refused             =
  reopened, reopened-later                          refused             =
  completed, settled-completed                      applied             retryable
  failed, settled-failed                            applied             retryable
  otherwise                                         applied             absent

sweep
  over                                              swept unknown       unknown
  over-resume                                       swept retryable     retryable
  otherwise                                         nothing             =

take
  given-up                                          taken 1             unknown
  otherwise                                         nothing             =

postpone
  unknown, given-up, stepped-unknown                applied             unknown
  otherwise                                         refused             =

erase
  completed, settled-completed                      erased              completed
  tombstone, purgeable                              erased              completed
  failed, exhausted, settled-failed                 erased              failed
  retryable, settled-retryable, given-up-resume     erased              failed
  stepped, vacated                                  erased              failed
  reopened, reopened-later                          erased              failed
  forgotten, forgotten-later                        erased              failed
  in_progress, over, over-resume, unknown           left                =
  given-up, pending, stepped-unknown                left                =
  otherwise                                         nothing             =

reap
  purgeable, forgotten-later                        reaped              absent
  otherwise                                         nothing             =
`;

/** One line of the table for one situation. */
export interface Row {
  readonly command: string;
  readonly situation: string;
  readonly result: string;
  readonly becomes: string;
}

/** The table's rows; every command must speak of every situation. */
export function stateTableRows(situations: readonly string[]): readonly Row[] {
  const rows: Row[] = [];
  for (const block of STATE_TABLE.trim().split('\n\n')) {
    const [command = '', ...lines] = block.split('\n');
    const left = new Set(situations);
    for (const line of lines) {
      const [who = '', result = '', becomes = ''] = line.trim().split(/\s{2,}/);
      for (const situation of who === 'otherwise' ? [...left] : who.split(', ')) {
        if (!left.delete(situation)) continue;
        rows.push({ command, situation, result, becomes });
      }
    }
    assert.deepEqual([...left], [], `the table must say what "${command}" does there`);
  }
  return rows;
}
