import type { z } from 'zod'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { Role } from '../../config/schema/roles.ts'
import type { Db } from '../../store/engine/db.ts'
import type { ActionDetail } from '../../store/operators/actions.ts'
import type { ActionContext, Attempt } from '../actions/context.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import type { ReloadResult } from '../actions/reload.ts'
import type { ShowFix } from '../health/fix.ts'
import type { Column } from '../output/columns.ts'
import type { Printer } from './printer.ts'

/** Dependencies and requester of an operation. */
export interface OperationContext extends ActionContext {
  readonly config: Config
  readonly log: Log
  readonly role: Role
  /** Aborts when the requester disconnects. Ends only waits for changes; started work continues. */
  readonly left: AbortSignal
  /** Rechecks the token or session of a waiting request. */
  readonly isStillAllowed: () => Promise<boolean>
  readonly version: string
  /** Whether a local command is the requester: it may run long and name files. */
  readonly isTerminal: boolean
  /** Database connection for totals, so that they don't block quick reads. */
  readonly sums: Db
  /** Reloads the settings; null if this process isn't `serve`. */
  readonly reload: (() => Promise<ReloadResult>) | null
  /** Audits work outside the database. */
  readonly attempt: Attempt
  /** Input field's name in this interface, for problems: `submission_id`, or `--submission`. */
  readonly nameOf: (field: string) => string
  readonly showFix: ShowFix
  /** Prints progress at a terminal; null without one. */
  readonly live: Printer | null
  /** Prints a line at a terminal before long work. */
  readonly announce: (line: string) => void
}

/** Context fields for requests that don't come from a terminal. */
export const unattended = {
  isTerminal: false,
  live: null,
  announce: () => undefined,
  left: new AbortController().signal,
  isStillAllowed: async () => true,
} as const

type ItemOf<T> = T extends { readonly items: readonly (infer R)[] } ? R : never

type Needs = 'account' | 'settings' | 'destinations' | 'sending'

/** Declares a command, a route and a tool; see `from-operation.ts` in `cli/`, `http/` and `mcp/`. */
export interface Operation<I extends z.ZodObject, O extends z.ZodType> {
  /** `outbox.retry` is the command `outbox retry` and the audit action. A subject's only operation has the subject's name: `backup`. */
  readonly name: string
  /** A phrase without a period, for `--help`, OpenAPI and assistants. */
  readonly summary: string
  readonly description?: string
  /** Required role. Terminal users need none. */
  readonly role: Role
  /**
   * Requirements at the terminal; default: only the database. `account`: the database and a configured account; `settings`: only the
   * settings; `destinations`: settings with everything destinations need; `sending`: `destinations` and `account`.
   */
  readonly needs?: Needs | ((input: z.output<I>) => Needs)
  /** Accepts unknown names of accounts and destinations. */
  readonly takesAnyName?: boolean
  /** The terminal may create or migrate the database, as `serve` does. */
  readonly mayPrepare?: boolean
  /** Concurrent HTTP requests share one answer. Requires an empty input. */
  readonly isShared?: boolean
  /** Method and path under `/api/v1`; `:name` comes from the input. The other fields are the query of a GET, or the body. */
  readonly http: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`
  /** A reader resumes after its last answer. Adds 409 (other log epoch) and 410 (no longer stored). Audits once per hour. */
  readonly isFollowed?: boolean
  /** Adds a route with `.csv` that returns all pages of the list. */
  readonly hasCsv?: boolean
  /** Maximum body in bytes, for long lists. */
  readonly maxBytes?: number
  readonly input: I
  /** Answer. Fields from `hidden` are masked unless `shows` returns an audit entry. */
  readonly output: O
  /** Why no command is generated. */
  readonly withoutCommand?: string
  /** Command, if it isn't the name. May include an option that selects the operation: `inbox list --rejected`. */
  readonly command?: string
  /** Positional argument of the command. */
  readonly argument?: keyof z.output<I> & string
  /** Tool name; assistants can't call operations without one. */
  readonly tool?: string
  /** Field names for assistants if they differ. */
  readonly toolFields?: Readonly<Partial<Record<keyof z.output<I> & string, string>>>
  /** Defaults for assistants. */
  readonly toolDefaults?: Partial<z.output<I>>
  /** Returns the audit entry for showing hidden fields; null masks them. Assistants always get masked values. */
  readonly shows?: (
    output: z.output<O>,
    input: z.output<I>,
  ) => { readonly action?: string; readonly target: string | null; readonly detail: ActionDetail } | null
  /** Exit code of the command; default 0. */
  readonly exit?: (output: z.output<O>, input: z.output<I>) => 0 | 1 | 3 | 4
  /** @throws UsageError or a subclass if the request can't be fulfilled; see `output/refusals.ts`. */
  readonly run: (context: OperationContext, input: z.output<I>) => Promise<z.input<O>>
  /** Terminal table of a list: title, columns, and the line for an empty list. */
  readonly table?: readonly [title: string, columns: readonly Column<ItemOf<z.output<O>>>[], none: string]
  /** Prints output that isn't a table. */
  readonly print?: (to: Printer, output: z.output<O>, input: z.output<I>) => void
}

export type AnyOperation = Operation<z.ZodObject, z.ZodType>

/** @returns the command of an operation: `outbox retry`. */
export function commandOf({ command, name }: Pick<AnyOperation, 'command' | 'name'>): string {
  return command ?? name.replace('.', ' ')
}

/** Declares an operation. Rejects unknown names in `account` and `destination`; operations with `needs` must check them. */
export function operation<I extends z.ZodObject, O extends z.ZodType>(declared: Operation<I, O>): AnyOperation {
  const op = declared as unknown as AnyOperation
  if (op.needs !== undefined || op.takesAnyName) return op
  return {
    ...op,
    async run(c, input) {
      await refuseUnknownNames(c.db.read, c.config, input)
      return await op.run(c, input)
    },
  }
}
