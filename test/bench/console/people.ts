import { uuid } from '../../tools/facts.ts'
import { BUSY, DESTINATION } from '../lookups/rows.ts'

/** What a page asks of the program when it is opened, at once. @param n which of the many things it shows is opened. */
type Page = (n: number) => readonly string[]

/** The pages of the console, by name. Each asks for the overview, too, whose sentence stands above all of them. */
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

/** How long each opening of a page took, in milliseconds, by its name. */
export type Visits = Map<string, number[]>

/** Between two pages that somebody opens. */
const LOOK_MS = 5_000

/** A console: its routes, and a token for them. */
export interface Place {
  readonly api: string
  readonly token: string
  readonly submissions: number
}

/** Opens each page so many times, one after the other, while nobody else looks. */
export async function lookAlone(place: Place, times: number): Promise<Visits> {
  const visits: Visits = new Map()
  for (const [name, page] of Object.entries(pages)) {
    const took: number[] = []
    for (let n = 0; n < times; n++) took.push(await open(place, page, n))
    visits.set(name, took)
  }
  return visits
}

/** People who listen to what happens and open one page after the other until the signal aborts, none of them the same one at a time. */
export async function lookAround(place: Place, people: number, signal: AbortSignal): Promise<Visits> {
  const visits: Visits = new Map(Object.keys(pages).map((page) => [page, []]))
  const names = Object.entries(pages)
  const one = async (person: number) => {
    const listening = listen(place, signal)
    // Nobody opens a page at the very moment at which all others do.
    await rest((person * LOOK_MS) / people, signal)
    for (let visit = person; !signal.aborted; visit++) {
      const [name, page] = names[visit % names.length] as [string, Page]
      const startedAt = performance.now()
      visits.get(name)?.push(await open(place, page, visit))
      await rest(LOOK_MS - (performance.now() - startedAt), signal)
    }
    await listening
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

/** Reads the stream of live events to its end. */
async function listen({ api, token }: Place, signal: AbortSignal): Promise<void> {
  try {
    const { body, status } = await fetch(`${api}/live`, { headers: { authorization: `Bearer ${token}` }, signal })
    if (body === null || status !== 200) throw new Error(`the stream of live events was answered ${status}`)
    for await (const _ of body) if (signal.aborted) return
  } catch (error) {
    if (!signal.aborted) throw error
  }
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
