import type { BackupProgress } from '../../store/backup/progress.ts'

const VERBS = { copying: 'copying', compacting: 'compacting the copy', verifying: 'verifying the copy' } as const

/** @returns a progress callback for `backupSqlite`. Passes a line of text to `write`, at most once per `everyMs`. */
export function progressLines(everyMs: number, write: (line: string) => void): (progress: BackupProgress) => void {
  let writtenAt = performance.now()
  return ({ step, percent, secondsLeft }) => {
    if (performance.now() - writtenAt < everyMs) return
    writtenAt = performance.now()
    const left = secondsLeft === null ? '' : `, about ${secondsLeft < 90 ? `${secondsLeft} s` : `${Math.round(secondsLeft / 60)} min`} left`
    write(`backup: ${VERBS[step]}, ${percent} %${left}`)
  }
}
