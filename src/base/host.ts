import type { Readable } from 'node:stream'

/** Where a command writes its text. */
export interface Output {
  write(text: string | Uint8Array): unknown
  readonly isTTY: boolean
  /** Whether it is a terminal that shows colors, and the user did not turn them off. */
  readonly hasColors?: boolean
  /** Terminal width, if it is a terminal. */
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
  readonly signal: AbortSignal
  /** The command and first arguments that start this program again. */
  readonly self: readonly [command: string, ...args: string[]]
  /** What a person types to start this program, before the arguments: `npx node src/main.ts`. */
  readonly command: string
  /** Calls `reload` each time the process is asked to reread its settings; immediately if it was asked before. */
  onReload(reload: () => void): void
  /** Calls `report` with an uncaught error before the process ends. */
  onCrash(report: (error: unknown) => void): void
}
