import { readFileSync } from 'node:fs'
import { replaceFile } from '../../base/durable-file.ts'
import { codeOf, UsageError } from '../../base/errors.ts'

/** Counted up whenever the content of a part changes its shape. */
const STATE_VERSION = 2
/** How long a change waits for others before it is written, when no answer waits for it. */
const WRITE_DELAY_MS = 200

/** Something whose content a state file keeps. */
export interface Stateful {
  /** @returns all that is not derived from the seed and the options, as values that JSON keeps as they are. */
  toState(): unknown
  /** Takes over what `toState` returned in an earlier process, after the same start with the same seed. */
  fromState(state: unknown): void
}

/** Whose state it is: a file of another world cannot be taken up. */
export interface StateOwner {
  readonly seed: string
  readonly accounts: readonly string[]
}

export interface SavedState extends StateOwner {
  readonly version: number
  /** Processes that have had the file before. */
  readonly runs: number
  /** What the clock showed. */
  readonly nowMs: number
  readonly parts: Readonly<Record<string, unknown>>
}

/**
 * Reads a state file.
 * @returns null when there is none yet.
 * @throws UsageError for a file that cannot be read, is no state file, or one of another version, seed or other accounts.
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
    // Said below: no JSON, or JSON of something else.
  }
  throw new UsageError([`${path} is no state file of the sandbox; name another file, or remove it`])
}

export interface StateFileOptions extends StateOwner {
  readonly path: string
  /** Processes that had the file before, and this one. */
  readonly runs: number
  readonly nowMs: () => number
  readonly parts: Readonly<Record<string, Stateful>>
}

/**
 * Keeps the state of a sandbox in a file. Each write replaces the file as a whole, so that a process may be killed at any time. An answer
 * or a delivery is only sent after the state that it tells of is in the file.
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

  /** Notes that something has changed. It is written soon, or by `persist`. */
  touch(): void {
    if (this.#isClosed) return
    this.#isDirty = true
    // A write that fails is tried again with the next change, and by whoever waits for an answer, who is told.
    this.#timer ??= setTimeout(() => void this.persist().catch(() => {}), WRITE_DELAY_MS).unref()
  }

  /** Resolves when all that has changed so far is in the file. Rejects when it cannot be written. */
  persist(): Promise<void> {
    if (!this.#isDirty || this.#isClosed) return this.#writing ?? Promise.resolve()
    this.#queued ??= (this.#writing ?? Promise.resolve()).catch(() => {}).then(() => this.#start())
    return this.#queued
  }

  /** Writes the state for the last time. */
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
