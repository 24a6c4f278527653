/** Where a command writes text. */
export interface Output {
  write(text: string): unknown
  /** Whether a person looks at it. */
  readonly isTTY: boolean
  /** How wide the terminal is, if it is one. */
  readonly columns?: number | undefined
}

/** What a program gets from its process; only main.ts has the process itself. */
export interface Host {
  /** The arguments, without the program's own name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: Output
  readonly stderr: Output
  /** Aborts when the process is asked to stop. */
  readonly signal: AbortSignal
  /** What starts this program once more: the command and its first arguments. */
  readonly self: readonly [command: string, ...args: string[]]
  /** From now on `reload` is called whenever the process is asked to read its settings again; at once when it was asked before. */
  onReload(reload: () => void): void
  /** From now on `report` writes the last words about an error that nobody caught. */
  onCrash(report: (error: unknown) => void): void
}
