import { z } from 'zod'
import { messageOf } from '../../base/errors.ts'
import { silentObserver } from '../../base/observer.ts'
import type { AccountConfig } from '../../config/config.ts'
import type { Surprise } from '../../model/api-changes.ts'
import { type KnownId, type KnownKind, knownIdsIn } from '../../model/known-ids.ts'
import type { Db } from '../../store/engine/db.ts'
import { newestSubmission, someKnownId } from '../../store/mirror/submissions.ts'
import { createAccountClient } from '../../upstream/account-client.ts'
import { schemas } from '../../upstream/api-changes/known.ts'
import { shapeOf } from '../../upstream/api-changes/shape.ts'
import { plainName, surprisesIn } from '../../upstream/api-changes/surprises.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { AuthRefusedError, UpstreamPermanentError } from '../../upstream/http/errors.ts'
import { operations, pathOf } from '../../upstream/http/operations.ts'
import { printableLine } from '../output/text.ts'
import { openForDoctor } from './database.ts'
import { bad, type DoctorParts, type Finding } from './finding.ts'

/**
 * Finding of `doctor --conformance --json`. A view is one GET path of the service, such as `policy`.
 * `ok` is false if the answer differs from the specification, or the sign-in failed. null: the view was not checked.
 */
export interface ConformanceFinding extends Finding {
  /** Name of the view. null if the sign-in failed, so that no view could be compared; `text` has the reason. */
  readonly row: string | null
  /** Method and path, such as `GET /broker/me`. Empty if the sign-in failed. */
  readonly spec: string
  readonly result: Result | 'failed'
  /** Fields and values of the answer that aren't in the specification. */
  readonly more: readonly string[]
}

export interface ConformanceOptions {
  readonly account: AccountConfig
  /** Id of the submission to read; null for the newest submission. */
  readonly submission: string | null
}

type Result = 'agrees' | 'differs' | 'unchecked'
type Verdict = Pick<ConformanceFinding, 'result' | 'text' | 'more'>

const LONGEST_TEXT = 500
const MOST_PROBLEMS = 5

/** Views in the order of reading. Earlier answers contain ids that later views need. */
const views = [
  'me',
  'requirements',
  'outstanding',
  'events',
  'thread',
  'workspace',
  'sessions',
  'bind_request',
  'policy',
  'insured',
] as const
type View = (typeof views)[number]

/**
 * Signs in to the service, reads each view once, and compares the answers with the specification.
 * Sends only GET requests and token exchanges. `serve` need not run.
 * Without a database, compares the views of a submission only if `submission` is set.
 */
export async function* compareService(
  p: Omit<DoctorParts, 'db' | 'serviceClocks' | 'showFix'>,
  { account, submission }: ConformanceOptions,
): AsyncGenerator<ConformanceFinding> {
  const about = `account ${account.name}`
  const opened = submission === null ? await openForDoctor(p.config, p) : null
  const db = opened === null || 'about' in opened ? null : opened
  const client = createAccountClient(p.config, account.name, { clock: p.clock, observer: silentObserver, log: p.log })
  try {
    const failure = await signInFailure(client, account, p.host.signal)
    if (failure !== null) {
      yield { ...bad(about, failure), row: null, spec: '', result: 'failed', more: [] }
      return
    }
    const unusable = opened !== null && 'about' in opened ? ` (${opened.text})` : ''
    const ids = new Ids(db, account.name, submission, `no submission is known; track one, or use --submission ID${unusable}`)
    for (const view of views) {
      const { result, text, more } = await verdictOf(client, ids, view, p.host.signal)
      yield {
        about,
        ok: result === 'unchecked' ? null : result === 'agrees',
        fails: result === 'differs',
        row: view,
        spec: `GET ${operations[view].path}`,
        result,
        more: more.map((one) => printableLine(one)),
        text: printableLine(text, LONGEST_TEXT),
      }
    }
  } finally {
    await client.close()
    await db?.close()
  }
}

/** @returns why sign-in failed, and what to do; null if it succeeded. */
async function signInFailure(client: UpstreamClient, { name, baseUrl }: AccountConfig, signal: AbortSignal): Promise<string | null> {
  try {
    await client.probe('/broker/me', signal)
    return null
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AuthRefusedError)
      return `the service rejects the credentials of account ${name} (${error.what}); compare id, secret, scope and base URL with the portal`
    if (error instanceof UpstreamPermanentError) return null
    return `the service doesn't answer at ${baseUrl} (${messageOf(error)}); check the address, proxy, DNS and firewall`
  }
}

async function verdictOf(client: UpstreamClient, ids: Ids, view: View, signal: AbortSignal): Promise<Verdict> {
  const found = await ids.of(view)
  if (typeof found === 'string') return { result: 'unchecked', text: found, more: [] }
  try {
    const { json } = await client.probe(pathOf({ operation: view, withCursor: false, ...found }), signal)
    ids.learn(json, found.submissionId)
    return judge(compare(schemas[view as keyof typeof schemas] ?? z.looseObject({}), json))
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof UpstreamPermanentError)) return { result: 'unchecked', text: messageOf(error), more: [] }
    return { result: error.class === 'gone' ? 'unchecked' : 'differs', text: error.what, more: [] }
  }
}

interface FoundIds {
  readonly submissionId: string
  readonly ownId: string
}

/** Ids for the paths of views, such as a policy id. The ids come from the mirror or from earlier answers. */
class Ids {
  readonly #db: Db | null
  readonly #account: string
  readonly #named: string | null
  readonly #missing: string
  readonly #learned: KnownId[] = []

  constructor(db: Db | null, account: string, named: string | null, missing: string) {
    this.#db = db
    this.#account = account
    this.#named = named
    this.#missing = missing
  }

  learn(json: unknown, submissionId: string): void {
    this.#learned.push(...knownIdsIn(json, submissionId))
  }

  /** @returns the ids for the path of a view, or, if an id is unknown, a text with the reason. */
  async of(view: View): Promise<FoundIds | string> {
    const { path } = operations[view]
    if (path.includes('{id}')) {
      const known = await this.#known(view as KnownKind)
      return known === null ? `no ${view.replace('_', ' ')} is known` : { submissionId: known.submissionId, ownId: known.id }
    }
    if (!path.includes('{submission_id}')) return { submissionId: '', ownId: '' }
    const submissionId = this.#named ?? (this.#db === null ? null : await newestSubmission(this.#db.read, this.#account))
    return submissionId === null ? this.#missing : { submissionId, ownId: '' }
  }

  async #known(kind: KnownKind): Promise<KnownId | null> {
    const stored = this.#db === null ? null : await someKnownId(this.#db.read, this.#account, kind)
    return stored ?? this.#learned.find((each) => each.kind === kind && each.submissionId !== '') ?? null
  }
}

export interface Comparison {
  readonly problems: readonly string[]
  readonly more: readonly string[]
}

/**
 * Compares an answer with a schema.
 * @returns `problems`: missing and wrongly typed fields. `more`: fields and values outside the specification.
 */
export function compare(schema: z.ZodType, json: unknown): Comparison {
  const issues = schema.safeParse(json).error?.issues ?? []
  const surprises = surprisesIn(shapeOf(schema), json)
  const [faults, beyond] = [surprises.filter(isFault), surprises.filter((each) => !isFault(each))]
  const wrong = faults.map(({ path, kind, type }) => `${path || 'the answer'} is ${kind === 'missing' ? 'missing' : type}`)
  const others = issues.map(({ path, message }) => [pathText(path), message] as const)
  return {
    problems: unique([
      ...wrong,
      ...others.filter(([path]) => !wrong.some((line) => line.startsWith(`${path} is `))).map((one) => one.join(': ')),
    ]),
    more: unique(beyond.map(({ path, kind }) => (kind === 'value' ? `${path} (value)` : path))),
  }
}

function judge({ problems, more }: Comparison): Verdict {
  if (problems.length === 0) return { result: 'agrees', text: 'the answer has the fields of the specification', more }
  const rest = problems.length > MOST_PROBLEMS ? `, and ${problems.length - MOST_PROBLEMS} more` : ''
  return { result: 'differs', text: `${problems.slice(0, MOST_PROBLEMS).join('; ')}${rest}`, more }
}

function isFault({ kind }: Surprise): boolean {
  return kind === 'type' || kind === 'missing'
}

function pathText(path: readonly PropertyKey[]): string {
  const stepText = (step: PropertyKey) => (plainName(String(step)) === '{}' ? '{}' : `.${String(step)}`)
  const text = path.map((step) => (typeof step === 'number' ? '[]' : stepText(step))).join('')
  return text === '' ? 'the answer' : text.replace(/^\./, '')
}

function unique(lines: readonly string[]): string[] {
  return [...new Set(lines)]
}
