import { uuid } from '../../tools/observations.ts'
import { BUSY, DESTINATION } from '../lookups/rows.ts'

/** Requests of a page when it is opened. @param n selects the item. */
type Page = (n: number) => readonly string[]

/** Pages of the console by name. Each also requests the overview. */
export const pages: Readonly<Record<string, Page>> = {
  overview: () => ['/completeness', '/rejected?open=true&since=24h&limit=100', '/found-without-webhook?limit=200', '/history?window=1h'],
  submissions: () => ['/submissions/counts', '/submissions?limit=50'],
  'submissions, searched': (n) => ['/submissions/counts', `/submissions?limit=50&search=insured%20${n}`],
  submission: (n) => [
    `/submissions/${BUSY}/${uuid(9, n)}`,
    `/submissions/${BUSY}/${uuid(9, n)}/timeline?limit=50`,
    `/outbox?account=${BUSY}&submission_id=${uuid(9, n)}&limit=10`,
  ],
  documents: () => ['/documents'],
  deliveries: () => ['/inbox/counts', '/inbox'],
  destinations: () => ['/destinations'],
  destination: () => ['/destinations', `/destinations/${DESTINATION}/failures`, `/outbox?destination=${DESTINATION}`],
  reconcile: () => ['/reconcile-runs'],
  operations: () => [
    '/accounts',
    '/alarms?all=true',
    '/alarms/history?limit=10',
    '/processes',
    '/settings',
    '/actions?limit=20',
    '/status',
  ],
}

export type Visits = Map<string, number[]>

/** Interval at which a page reloads. A simulated user opens the next page instead. */
const LOOK_MS = 2_000

export interface Place {
  readonly api: string
  readonly token: string
  readonly submissions: number
}

/** Opens each page repeatedly, without other users. */
export async function lookAlone(place: Place, times: number): Promise<Visits> {
  const visits: Visits = new Map()
  for (const [name, page] of Object.entries(pages)) {
    const took: number[] = []
    for (let n = 0; n < times; n++) took.push(await open(place, page, n))
    visits.set(name, took)
  }
  return visits
}

export async function lookAround(place: Place, people: number, signal: AbortSignal): Promise<Visits> {
  const visits: Visits = new Map(Object.keys(pages).map((page) => [page, []]))
  const names = Object.entries(pages)
  const one = async (person: number) => {
    // Spreads the users over the interval.
    await rest((person * LOOK_MS) / people, signal)
    for (let visit = person; !signal.aborted; visit++) {
      const [name, page] = names[visit % names.length] as [string, Page]
      const startedAt = performance.now()
      visits.get(name)?.push(await open(place, page, visit))
      await rest(LOOK_MS - (performance.now() - startedAt), signal)
    }
  }
  await Promise.all(Array.from({ length: people }, (_, person) => one(person)))
  return visits
}

async function open({ api, token, submissions }: Place, page: Page, visit: number): Promise<number> {
  const startedAt = performance.now()
  await Promise.all(['/overview', ...page((visit * 7_919) % submissions)].map((path) => get(api + path, token)))
  return performance.now() - startedAt
}

async function get(url: string, token: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  const body = await answer.text()
  if (!answer.ok) throw new Error(`${url} was answered ${answer.status}: ${body.slice(0, 200)}`)
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.max(0, ms))
  const wake = () => {
    clearTimeout(timer)
    resolve()
  }
  if (signal.aborted) wake()
  signal.addEventListener('abort', wake, { once: true })
  return promise.finally(() => signal.removeEventListener('abort', wake))
}
