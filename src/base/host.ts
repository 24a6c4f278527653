import type { Readable } from 'node:stream'

/** Where a command writes its text. */
export interface Output {
  write(text: string | Uint8Array): unknown
  /** Whether it is a terminal. */
  readonly isTTY: boolean
  /** Whether it is a terminal that shows colours, and the user has not said otherwise. */
  readonly hasColors?: boolean
  /** Width of the terminal, if it is one. */
  readonly columns?: number | undefined
}

/** What the program gets from its process. Only main.ts touches the process itself. */
export interface Host {
  /** Arguments, without the program's name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Output
  /** Aborts when the process should stop. */
  readonly signal: AbortSignal
  /** How to start this program again: the command and its first arguments. */
  readonly self: readonly [command: string, ...args: string[]]
  /** What a person types to start this program, before the arguments: `npx node src/main.ts`. */
  readonly command: string
  /** Calls `reload` whenever the process is asked to read its settings again; at once if it was asked before. */
  onReload(reload: () => void): void
  /** Calls `report` with an uncaught error before the process ends. */
  onCrash(report: (error: unknown) => void): void
}
