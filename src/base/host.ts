import type { Readable } from 'node:stream'

/** Destination of a command's output, such as standard output. */
export interface Output {
  write(text: string | Uint8Array): unknown
  readonly isTTY: boolean
  /** True if the terminal supports colors and the user didn't turn them off. */
  readonly hasColors?: boolean
  /** Terminal width in characters. */
  readonly columns?: number | undefined
}

/** Arguments, environment, and streams of the process. Only main.ts uses `process` directly. */
export interface Host {
  /** Command-line arguments, without the program's name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Output
  readonly signal: AbortSignal
  /** The command that starts this program as a child process, such as `/usr/bin/node src/main.ts`. */
  readonly self: readonly [command: string, ...args: string[]]
  /** What a person types before the arguments to run this program, such as `npx node src/main.ts`. */
  readonly command: string
  /**
   * Calls `reload` on each request to reload the settings. If a request arrived before this call,
   * calls `reload` immediately.
   */
  onReload(reload: () => void): void
  /** Calls `report` with an uncaught error before the process ends. */
  onCrash(report: (error: unknown) => void): void
}
