import type { z } from 'zod'
import type { AccountConfig } from '../../../config/config.ts'
import { type KnownId, type KnownKind, knownIdsIn } from '../../../model/known-ids.ts'
import type { Db } from '../../../store/engine/db.ts'
import { boundRequests, newestSubmissions, someKnownIds } from '../../../store/mirror/some-ids.ts'
import type { Answer, ComparedService } from './service.ts'
import { agrees, type Compared, compare, differs, judged, NotTold, together, untold, type Verdict } from './verdict.ts'

/** What is looked at, of each kind: enough to see an interface, few enough to be no burden. */
const MOST_SUBMISSIONS = 4
const MOST_IDS = 3

export const views = {
  requirements: '/requirements',
  outstanding: '/outstanding-requirements',
  workspace: '/application-workspace',
  sessions: '/api-quotes/sessions',
} as const

export interface DeskParts {
  readonly service: ComparedService
  readonly account: AccountConfig
  /** null when the mirror's database cannot be used; nothing is known of the service's ids then. */
  readonly db: Db | null
  /** Why the database cannot be used; null when it can. */
  readonly unusable: string | null
  /** Named on the command line; null for those that the mirror knows. */
  readonly submission: string | null
}

/** What the checks read by: the service, and the ids of what it has. */
export class Desk {
  readonly service: ComparedService
  readonly account: AccountConfig
  readonly #db: Db | null
  readonly #unusable: string | null
  readonly #named: string | null
  #submissions: Promise<readonly string[]> | null = null

  constructor({ service, account, db, unusable, submission }: DeskParts) {
    this.service = service
    this.account = account
    this.#db = db
    this.#unusable = unusable
    this.#named = submission
  }

  /** @throws NotTold when none is known. */
  async submissions(): Promise<readonly string[]> {
    this.#submissions ??= this.#findSubmissions()
    const ids = await this.#submissions
    const why = this.#unusable === null ? 'track one, or name one with --submission' : `name one with --submission (${this.#unusable})`
    if (ids.length === 0) throw new NotTold(`no submission is known here; ${why}`)
    return ids
  }

  /** @returns ids that the mirror knows or that an answer has named. @throws NotTold when there are none. */
  async idsOf(kind: KnownKind): Promise<readonly KnownId[]> {
    const stored = this.#db === null || this.#named !== null ? [] : await someKnownIds(this.#db.read, this.account.name, kind, MOST_IDS)
    const found = stored.length > 0 ? stored : await this.#idsInAnswers(kind)
    const usable = kind === 'bind_request' ? found.filter(({ submissionId }) => submissionId !== '') : found
    if (usable.length === 0) throw new NotTold(`no ${kind.replace('_', ' ')} is known here by its id`)
    return usable.slice(0, MOST_IDS)
  }

  /** @returns bind requests of which some are bound, where the mirror knows any. @throws NotTold when there are none. */
  async boundRequests(): Promise<readonly KnownId[]> {
    const stored = this.#db === null || this.#named !== null ? [] : await boundRequests(this.#db.read, this.account.name, MOST_IDS)
    return stored.length > 0 ? stored : await this.idsOf('bind_request')
  }

  /** Reads one path of each submission, and compares the answers. */
  async ofSubmissions(path: string, schema: z.ZodType): Promise<Verdict> {
    const ids = await this.submissions()
    return await this.ofEach(
      ids.map((id) => `/broker/submissions/${id}${path}`),
      schema,
    )
  }

  /** Reads each path, and compares the answers. What is not found may be gone by now. */
  async ofEach(paths: readonly string[], schema: z.ZodType): Promise<Verdict> {
    const compared: Compared[] = []
    for (const path of paths) {
      const answer = await this.service.get(path)
      if (answer.status === 404) continue
      const refused = refusalOf(answer)
      if (refused !== null) return differs(refused)
      compared.push(compare(schema, answer.json))
    }
    if (compared.length === 0)
      return untold(`answered 404 for ${count(paths.length, 'id')} that ${paths.length === 1 ? 'is' : 'are'} known here`)
    return judged(together(compared), `${count(compared.length, 'answer')} read`)
  }

  async #findSubmissions(): Promise<readonly string[]> {
    if (this.#named !== null) return [this.#named]
    return this.#db === null ? [] : await newestSubmissions(this.#db.read, this.account.name, MOST_SUBMISSIONS)
  }

  /** Looks through the views of the submissions, then through what these name: a bind request names its policy, a policy its documents. */
  async #idsInAnswers(kind: KnownKind): Promise<readonly KnownId[]> {
    const found: KnownId[] = []
    const look = async (path: string, submissionId: string) => {
      const { status, json } = await this.service.get(path)
      if (status === 200) found.push(...knownIdsIn(json, submissionId))
    }
    for (const id of await this.submissions()) {
      for (const view of [...Object.values(views), '/thread']) await look(`/broker/submissions/${id}${view}`, id)
    }
    const of = (wanted: KnownKind) => found.filter((one) => one.kind === wanted).slice(0, MOST_IDS)
    if (kind === 'bind_request') return of(kind)
    for (const { id, submissionId } of of('bind_request'))
      await look(`/broker/submissions/${submissionId}/bind-requests/${id}`, submissionId)
    if (kind !== 'policy') for (const { id, submissionId } of of('policy')) await look(`/broker/policies/${id}`, submissionId)
    return of(kind)
  }
}

/** @returns why an answer that should have been given is none; null when it is one. */
export function refusalOf({ status, json }: Answer): string | null {
  if (status !== 200) return `answered ${status}`
  return json === undefined ? 'answered 200 without JSON' : null
}

/** An error that the specification lists without a number: any refusal is one. */
export function refusedAs(answers: readonly Answer[], what: string): Verdict {
  const accepted = answers.find(({ status }) => status < 400)
  const statuses = [...new Set(answers.map(({ status }) => status))].join(' and ')
  if (accepted !== undefined) return differs(`${what} was answered ${accepted.status}, not refused`)
  return agrees(`${what} is answered ${statuses}; the specification gives no number`)
}

export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}
