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

/** What an operation needs, and who called it. */
export interface OperationContext extends ActionContext {
  readonly config: Config
  readonly log: Log
  readonly role: Role
  /** Aborts when the requester disconnects. A request that waits for changes then ends. Other work continues. */
  readonly left: AbortSignal
  /** Checks again whether the token or session is valid. Used while a request waits. */
  readonly isStillAllowed: () => Promise<boolean>
  readonly version: string
  /** True if the operation runs as a local command. The operation may then take long and use file paths. */
  readonly isTerminal: boolean
  /** Separate reader for totals. Without it, totals would block quick reads. */
  readonly sums: Db
  /** Reloads the settings; null if this process isn't `serve`. */
  readonly reload: (() => Promise<ReloadResult>) | null
  /** Runs work that is more than one transaction. Audits the start and the outcome of the work. */
  readonly attempt: Attempt
  /** @returns the name of an input field for problem texts: `submission_id`, or `--submission` at the terminal. */
  readonly nameOf: (field: string) => string
  readonly showFix: ShowFix
  /** Prints progress at the terminal. null if no progress is shown. */
  readonly live: Printer | null
  /** Prints a line at the terminal before long work. Does nothing elsewhere. */
  readonly announce: (line: string) => void
}

/** Fields of the context for a request that doesn't come from a terminal. */
export const unattended = {
  isTerminal: false,
  live: null,
  announce: () => undefined,
  left: new AbortController().signal,
  isStillAllowed: async () => true,
} as const

type ItemOf<T> = T extends { readonly items: readonly (infer R)[] } ? R : never

type Needs = 'account' | 'settings' | 'destinations' | 'sending'

/**
 * Declaration of an operation.
 * `from-operation.ts` in `cli/`, `http/` and `mcp/` makes the command, the route and the tool from this declaration.
 */
export interface Operation<I extends z.ZodObject, O extends z.ZodType> {
  /**
   * `outbox.retry` is the command `outbox retry`, and the action in the audit log.
   * A subject's only operation has the subject's name, such as `backup`.
   */
  readonly name: string
  /** Short phrase without a period, for `--help`, OpenAPI and assistants. */
  readonly summary: string
  readonly description?: string
  /** Role that the requester needs. At the terminal, no role is needed. */
  readonly role: Role
  /**
   * What the command needs at the terminal. Default: only the database.
   * - `account`: the database and a configured account.
   * - `settings`: only the settings.
   * - `destinations`: only the settings, including everything that sending to destinations needs.
   * - `sending`: like `destinations`, and a configured account.
   */
  readonly needs?: Needs | ((input: z.output<I>) => Needs)
  /** True to accept names of accounts and destinations that are in neither the settings nor the database. */
  readonly takesAnyName?: boolean
  /** True if the command may create or migrate the database, as `serve` does. */
  readonly mayPrepare?: boolean
  /** True if concurrent HTTP requests share one answer. The input must have no fields. */
  readonly isShared?: boolean
  /**
   * Method and path under `/api/v1`. A part such as `:name` is an input field.
   * The other input fields are the query of a GET, or the body of another request.
   */
  readonly http: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`
  /**
   * True if clients call the route repeatedly, each time with the position from the previous answer.
   * Adds the answers 409 (other log epoch) and 410 (no longer stored). Showing unmasked values is audited once an hour.
   */
  readonly isFollowed?: boolean
  /** True to add a route that ends with `.csv` and returns all pages of the list. */
  readonly hasCsv?: boolean
  /** Maximum bytes of the request body. Default: 64 KiB, or 8 MiB if the input has a document. */
  readonly maxBytes?: number
  readonly input: I
  /**
   * Schema of the answer. Over HTTP, fields marked by `hidden` are masked, unless `shows` returns an audit entry.
   * Assistants always get these fields masked. The terminal always gets them unmasked.
   */
  readonly output: O
  /** Reason why the operation has no command. */
  readonly withoutCommand?: string
  /**
   * Words of the command, if they differ from the name.
   * The words may end with an option that selects the operation, as in `inbox list --rejected`.
   */
  readonly command?: string
  /** Input field that is the positional argument of the command. */
  readonly argument?: keyof z.output<I> & string
  /** Name of the tool for assistants. If undefined, assistants can't call the operation. */
  readonly tool?: string
  /** Names of input fields for assistants, if they differ. */
  readonly toolFields?: Readonly<Partial<Record<keyof z.output<I> & string, string>>>
  /** Default values of input fields for assistants. */
  readonly toolDefaults?: Partial<z.output<I>>
  /**
   * Returns the audit entry for showing hidden fields unmasked over HTTP. If the result is null, the fields are masked.
   */
  readonly shows?: (
    output: z.output<O>,
    input: z.output<I>,
  ) => { readonly action?: string; readonly target: string | null; readonly detail: ActionDetail } | null
  /** Returns the exit code of the command. Default: 0. */
  readonly exit?: (output: z.output<O>, input: z.output<I>) => 0 | 1 | 3 | 4
  /**
   * Does the work.
   * @throws UsageError or a subclass if the request can't be fulfilled; see `output/refusals.ts`.
   */
  readonly run: (context: OperationContext, input: z.output<I>) => Promise<z.input<O>>
  /** Table for a list at the terminal: title, columns, and the line for an empty list. */
  readonly table?: readonly [title: string, columns: readonly Column<ItemOf<z.output<O>>>[], none: string]
  /** Prints the output at the terminal, if it is not a table. */
  readonly print?: (to: Printer, output: z.output<O>, input: z.output<I>) => void
}

export type AnyOperation = Operation<z.ZodObject, z.ZodType>

/** @returns the words of an operation's command, such as `outbox retry`. */
export function commandOf({ command, name }: Pick<AnyOperation, 'command' | 'name'>): string {
  return command ?? name.replace('.', ' ')
}

/**
 * Declares an operation. Before the operation runs, unknown names in `account` and `destination` are rejected.
 * An operation with `needs` must check these names in its `run`.
 */
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
