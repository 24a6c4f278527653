import { readFileSync } from 'node:fs'
import { replaceFile } from '../../base/durable-file.ts'
import { codeOf, UsageError } from '../../base/errors.ts'

/**
 * Version of the state file's format. Increase the version when the JSON of the file or of a `toState` result changes
 * shape.
 */
const STATE_VERSION = 2
const WRITE_DELAY_MS = 200

/** A part of the sandbox whose state is saved in the state file. */
export interface Stateful {
  /** @returns everything that doesn't derive from the seed and the options, as JSON values. */
  toState(): unknown
  /** Restores a result of `toState`. An earlier process with the same seed may have made the result. */
  fromState(state: unknown): void
}

/** Seed and account names. A state file fits only a sandbox with the same values. */
export interface StateOwner {
  readonly seed: string
  readonly accounts: readonly string[]
}

export interface SavedState extends StateOwner {
  readonly version: number
  /** Number of processes that used the file before. */
  readonly runs: number
  /** Time of the sandbox's clock when the state was saved, in ms since the epoch. */
  readonly nowMs: number
  readonly parts: Readonly<Record<string, unknown>>
}

/**
 * @returns the saved state; null if the file doesn't exist.
 * @throws UsageError if the file is unreadable or invalid, or has another version, seed, or accounts.
 */
export function readState(path: string, owner: StateOwner): SavedState | null {
  const saved = parse(path)
  if (saved === null) return null
  if (saved.version !== STATE_VERSION)
    throw new UsageError([`${path} is a state file of version ${saved.version}, not ${STATE_VERSION}; name another file, or remove it`])
  if (saved.seed !== owner.seed)
    throw new UsageError([`${path} holds the state of seed ${saved.seed}, not ${owner.seed}; start with that seed, or name another file`])
  if (saved.accounts.join() !== owner.accounts.join())
    throw new UsageError([`${path} holds the accounts ${saved.accounts.join(', ')}, not ${owner.accounts.join(', ')}; name another file`])
  return saved
}

function parse(path: string): SavedState | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw new UsageError([`${path} cannot be read (${codeOf(error)}); name a file that can`])
  }
  try {
    const value = JSON.parse(text) as Partial<SavedState> | null
    if (value && typeof value.version === 'number' && typeof value.seed === 'string' && Array.isArray(value.accounts))
      return value as SavedState
  } catch {
    // The file isn't JSON. The error below reports this.
  }
  throw new UsageError([`${path} is no state file of the sandbox; name another file, or remove it`])
}

interface StateFileOptions extends StateOwner {
  readonly path: string
  /** Number of processes that used the file, including this one. */
  readonly runs: number
  readonly nowMs: () => number
  readonly parts: Readonly<Record<string, Stateful>>
}

/**
 * Saves a sandbox's state. Each write replaces the file atomically, so the process can be killed at any time. Answers
 * and deliveries are sent only after the state is saved.
 */
export class StateFile {
  readonly #options: StateFileOptions
  #isDirty = true
  #writing: Promise<void> | null = null
  #queued: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(options: StateFileOptions) {
    this.#options = options
  }

  /** Marks the state as changed. The state is saved after 200 ms, or earlier by `persist`. */
  touch(): void {
    if (this.#isClosed) return
    this.#isDirty = true
    // A failed write is retried after the next change. Callers of `persist` get the error.
    this.#timer ??= setTimeout(() => void this.persist().catch(() => {}), WRITE_DELAY_MS).unref()
  }

  /** Resolves when all changes so far are saved. Rejects if saving fails. */
  persist(): Promise<void> {
    if (!this.#isDirty || this.#isClosed) return this.#writing ?? Promise.resolve()
    this.#queued ??= (this.#writing ?? Promise.resolve()).catch(() => {}).then(() => this.#start())
    return this.#queued
  }

  /** Saves the state. Later changes are not saved. */
  async close(): Promise<void> {
    this.touch()
    const written = this.persist()
    this.#isClosed = true
    await written
  }

  #start(): Promise<void> {
    this.#queued = null
    this.#isDirty = false
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const writing = this.#write().finally(() => {
      if (this.#writing === writing) this.#writing = null
    })
    this.#writing = writing
    return writing
  }

  async #write(): Promise<void> {
    const { path, seed, accounts, runs, nowMs, parts } = this.#options
    const states = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.toState()]))
    const saved: SavedState = { version: STATE_VERSION, seed, accounts, runs, nowMs: nowMs(), parts: states }
    const text = JSON.stringify(saved)
    try {
      await replaceFile(path, `${path}.new`, text, { mode: 0o600 })
    } catch (error) {
      this.#isDirty = true
      throw new UsageError([`the state cannot be written to ${path} (${codeOf(error)}); name a file in a folder that can be written`])
    }
  }
}
