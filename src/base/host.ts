import type { Readable } from 'node:stream'

/** Where a command writes its text. */
export interface Output {
  write(text: string | Uint8Array): unknown
  readonly isTTY: boolean
  /** Whether the terminal supports colors and the user didn't turn them off. */
  readonly hasColors?: boolean
  /** Terminal width in characters. */
  readonly columns?: number | undefined
}

/** The process as the program sees it. Only main.ts uses `process` directly. */
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
  /** Calls `reload` for each request to reread the settings; immediately for an earlier request. */
  onReload(reload: () => void): void
  /** Calls `report` with an uncaught error before the process ends. */
  onCrash(report: (error: unknown) => void): void
}
