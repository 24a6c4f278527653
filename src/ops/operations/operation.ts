import type { z } from 'zod'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { Role } from '../../config/schema/roles.ts'
import type { Db } from '../../store/engine/db.ts'
import type { ActionDetail } from '../../store/operators/actions.ts'
import type { ActionContext, Attempt } from '../actions/context.ts'
import type { ReloadResult } from '../actions/reload.ts'
import type { ShowMend } from '../health/mend.ts'
import type { Column } from '../output/columns.ts'
import type { Printer } from './printer.ts'

/** What an operation works with, and who asks for it. */
export interface OperationContext extends ActionContext {
  readonly config: Config
  readonly log: Log
  /** What whoever asks may see and do. */
  readonly role: Role
  /** Aborts when whoever asks has left: what only waits for news ends. Work that was begun goes on. */
  readonly left: AbortSignal
  /** Whether the token or session of the request is still valid. A request that waits asks again. */
  readonly isStillAllowed: () => Promise<boolean>
  readonly version: string
  /** Whether the user of this machine asks, at its terminal: work may be done here that takes long, and files be named. */
  readonly isTerminal: boolean
  /** The database, for what sums up all of it: not in the way of what is quick. */
  readonly sums: Db
  /** Reads the settings again and goes by them; null where nothing serves. */
  readonly reload: (() => Promise<ReloadResult>) | null
  /** Does something outside the database, and notes it there. */
  readonly attempt: Attempt
  /** How the interface at hand calls a field of the input, for problems: `submission_id`, or `--submission`. */
  readonly nameOf: (field: string) => string
  readonly showMend: ShowMend
  /** Where a person at a terminal is shown what comes of it meanwhile; null: nobody waits there, or a program reads. */
  readonly live: Printer | null
  /** Tells whoever waits at a terminal what is about to be done. */
  readonly tell: (line: string) => void
}

/** Of a context where nobody waits at a terminal. */
export const unattended = {
  isTerminal: false,
  live: null,
  tell: () => undefined,
  left: new AbortController().signal,
  isStillAllowed: async () => true,
} as const

type ItemOf<T> = T extends { readonly items: readonly (infer R)[] } ? R : never

type Needs = 'account' | 'settings' | 'destinations' | 'sending'

/**
 * What an operator can look at or do. The command, the route with its description, and the tool of assistants are made from it: see
 * `from-operation.ts` in `cli/`, `http/` and `mcp/`.
 */
export interface Operation<I extends z.ZodObject, O extends z.ZodType> {
  /** `outbox.retry`: the command `outbox retry`, and the action of its audit entry. A subject of one operation is its name: `backup`. */
  readonly name: string
  /** One sentence without its end, the same in `--help`, in the OpenAPI document and for assistants. */
  readonly summary: string
  readonly description?: string
  /** The least role that may ask for it. The user of the terminal may do everything. */
  readonly role: Role
  /**
   * What the terminal must find: at least one account in the settings besides the database, or the settings alone; `destinations`: with what
   * destinations need, `sending`: and an account. With the settings alone it has no database, and what it attempts is noted where there is one.
   */
  readonly needs?: Needs | ((input: z.output<I>) => Needs)
  /** Whether the terminal may create or migrate the database for it, as `serve` does. */
  readonly mayPrepare?: boolean
  /** Whether one answer serves all who ask by HTTP at the same time; only without an input. */
  readonly isShared?: boolean
  /** Method and path under `/api/v1`; `:name` comes from the input, and all else is the query of a GET or the body. */
  readonly http: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`
  /**
   * Whether a reader goes on from what it was told before, so that it can be refused: 409 for another log epoch, 410 for what is not kept any
   * more. What it is shown in an hour is one note.
   */
  readonly goesOn?: boolean
  /** Whether its list is handed out as a CSV, too, all pages in one: at its path with `.csv` behind. */
  readonly hasCsv?: boolean
  /** Bytes that its body may have, where it takes long lists. */
  readonly mostBytes?: number
  /** Its descriptions stand beside options, in the OpenAPI document, and in the schema of the tool. */
  readonly input: I
  /** What is answered. Fields made by `hidden` are masked, unless `shows` says otherwise. */
  readonly output: O
  /** Why its command, if any, is not made of it: what the terminal does in its own way. */
  readonly withoutCommand?: string
  /** Its command, where that is not its name; with an option of another command, in whose place it is called: `inbox list --rejected`. */
  readonly command?: string
  /** The field that the terminal takes without an option's name. */
  readonly argument?: keyof z.output<I> & string
  /** The name of its tool; left out: assistants are not offered it. */
  readonly tool?: string
  /** What assistants call fields, where that is another name. */
  readonly toolFields?: Readonly<Partial<Record<keyof z.output<I> & string, string>>>
  /** What holds for an assistant that leaves a field out. */
  readonly toolDefaults?: Partial<z.output<I>>
  /**
   * Whether hidden fields are shown, and who saw what is noted before it is handed out: the audit entry; null: this answer is masked.
   * Assistants see them masked.
   */
  readonly shows?: (
    output: z.output<O>,
    input: z.output<I>,
  ) => { readonly action?: string; readonly target: string | null; readonly detail: ActionDetail } | null
  /** The exit code of the command; 0 when left out. */
  readonly exit?: (output: z.output<O>, input: z.output<I>) => 0 | 1 | 3 | 4
  /** @throws UsageError and its kinds for what cannot be done as it is asked for; see `output/refusals.ts`. */
  readonly run: (context: OperationContext, input: z.output<I>) => Promise<z.input<O>>
  /** What a person at a terminal sees of a list: the title of a table, its columns, and the line in its place when there is nothing. */
  readonly table?: readonly [title: string, columns: readonly Column<ItemOf<z.output<O>>>[], none: string]
  /** Writes any other output for a person at a terminal; only what has no command has none. */
  readonly print?: (to: Printer, output: z.output<O>, input: z.output<I>) => void
}

/** Any operation, as the adapters see it. */
export type AnyOperation = Operation<z.ZodObject, z.ZodType>

/** How the terminal calls an operation: `outbox retry`. */
export function commandOf({ command, name }: Pick<AnyOperation, 'command' | 'name'>): string {
  return command ?? name.replace('.', ' ')
}

/** Declares an operation whose parts fit each other. */
export function operation<I extends z.ZodObject, O extends z.ZodType>(declared: Operation<I, O>): AnyOperation {
  return declared as unknown as AnyOperation
}
