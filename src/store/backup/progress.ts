import { open } from 'node:fs/promises'

/** Steps of a backup, each with its usual share of the total time. Measured with a database of 17 GB. */
const SHARES = { copying: 0.3, compacting: 0.4, verifying: 0.3 } as const

export type BackupStep = keyof typeof SHARES

export interface BackupProgress {
  readonly step: BackupStep
  /** Percentage of the whole backup, 0 to 100. */
  readonly percent: number
  /** Estimated seconds until the backup is complete; null while it is too early for an estimate. */
  readonly secondsLeft: number | null
}

const EVERY_MS = 1_000
/** Minimum finished share of the backup for an estimate of the remaining time. Earlier estimates are too inaccurate. */
const LEAST_DONE = 0.02

/**
 * Computes the progress of a backup.
 * @param done the finished share of the step, 0 to 1.
 * @param elapsedMs time since the backup began, in ms.
 */
export function progressAt(step: BackupStep, done: number, elapsedMs: number): BackupProgress {
  const steps = Object.entries(SHARES)
  const before = steps.slice(0, Object.keys(SHARES).indexOf(step)).reduce((sum, [, share]) => sum + share, 0)
  const share = before + SHARES[step] * Math.min(done, 1)
  const secondsLeft = share < LEAST_DONE ? null : Math.ceil((elapsedMs * (1 - share)) / share / 1_000)
  return { step, percent: Math.floor(share * 100), secondsLeft }
}

interface WatchedBackup {
  /** The file that each step writes. A step without a file only reads. */
  readonly files: Partial<Record<BackupStep, string>>
  /** Expected size of each file, in bytes. */
  readonly bytes: number
  readonly step: () => BackupStep
  readonly onProgress: (progress: BackupProgress) => void
}

/**
 * Reports progress every second, and syncs the growing file of the current step to disk. Without these syncs, the next
 * commit of the live database would wait until gigabytes are written to disk.
 * @returns a function that ends the reports.
 */
export function watchBackup({ files, bytes, step, onProgress }: WatchedBackup): () => Promise<void> {
  const startedAt = performance.now()
  let running: Promise<void> | null = null
  const look = async () => {
    const file = files[step()]
    const written = file === undefined ? 0 : await flushed(file)
    onProgress(progressAt(step(), written / bytes, performance.now() - startedAt))
    running = null
  }
  const timer = setInterval(() => {
    running ??= look()
  }, EVERY_MS)
  return async () => {
    clearInterval(timer)
    await running
  }
}

/**
 * Flushes a file to disk. @returns the file's size in bytes; 0 if the file is missing or an error occurs. The copying
 * process reports errors.
 */
async function flushed(path: string): Promise<number> {
  try {
    const file = await open(path, 'r')
    try {
      await file.datasync()
      return (await file.stat()).size
    } finally {
      await file.close()
    }
  } catch {
    return 0
  }
}
