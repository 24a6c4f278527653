import type { Plants } from './plant.ts'

/** Reconcile: what is compared, corrected and reported. */
export const proving: Plants = {
  'a run leaves what follows from the records as it is': {
    file: 'reconcile/check/submission-check.ts',
    edits: [['if (this.#repairer.hasRepaired || differs(comparison.derived)) await', 'if (this.#repairer.hasRepaired) await']],
    foundBy: ['reconcile/run/runs.test.ts'],
  },
  'a run leaves the state as it is when the records agree': {
    file: 'reconcile/check/submission-check.ts',
    edits: [['if (stateDiffers) await this.#o.slots.add(', 'if (stateDiffers && differs(comparison.records)) await this.#o.slots.add(']],
    foundBy: ['reconcile/run/runs.test.ts'],
  },
  'a run that left a difference ends with 0': {
    file: 'reconcile/run/outcome.ts',
    edits: [['exitCode: left > 0 ? runExit.left : runExit.clean', 'exitCode: left > 1 ? runExit.left : runExit.clean']],
    foundBy: ['reconcile/run/outcome.test.ts'],
  },
  'a run whose budget ended ends with 0': {
    file: 'reconcile/run/outcome.ts',
    edits: [["if (stop.state === 'budget') return { ...stop, exitCode: runExit.notDone }\n", '']],
    foundBy: ['reconcile/run/outcome.test.ts'],
  },
  'what a second replay shows counts as absent': {
    file: 'reconcile/check/absences.ts',
    edits: [['return unmarked.filter((record) => !isShown(record, shown))', 'void shown\n  return [...unmarked]']],
    foundBy: ['reconcile/check/absences.test.ts'],
  },
  'a run takes one 404 of a policy for gone': {
    file: 'store/reconcile/known-ids.ts',
    edits: [['not_found < ${NOT_FOUND_TO_CONFIRM}', 'not_found < ${NOT_FOUND_TO_CONFIRM - 3}']],
    foundBy: ['reconcile/run/unreconciled.test.ts'],
  },
}
