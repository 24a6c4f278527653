import { uuid } from '../../tools/facts.ts'
import { BUSY } from '../lookups/rows.ts'

/** What a page asks of the program when it is opened, at once. @param n which of the many things it shows is opened. */
type Page = (n: number) => readonly string[]

const HOUR = 'window=1h'

/** The pages of the console, by name. */
export const pages: Readonly<Record<string, Page>> = {
  overview: () => ['/overview', '/completeness', `/history?${HOUR}`],
  submissions: () => ['/overview', '/submissions?limit=50'],
  'submissions, searched': (n) => ['/overview', `/submissions?limit=50&search=insured%20${n}`],
  submission: (n) => [`/submissions/${BUSY}/${uuid(9, n)}`, `/submissions/${BUSY}/${uuid(9, n)}/timeline?limit=50`],
  deliveries: () => ['/overview', '/inbox'],
  destinations: () => ['/destinations'],
  destination: () => ['/destinations', '/outbox?destination=agency'],
  reconcile: () => ['/reconcile-runs'],
  operations: () => ['/overview', '/accounts', '/alarms?all=true', '/processes', '/settings', '/actions'],
}

/** How long each opening of a page took, in milliseconds, by its name. */
export type Visits = Map<string, number[]>

/** Between two pages that somebody opens. */
const LOOK_MS = 2_000

/** People who open one page after the other until the signal aborts, none of them the same one at a time. */
export async function lookAround(
  api: string,
  token: string,
  { people, submissions }: { readonly people: number; readonly submissions: number },
  signal: AbortSignal,
): Promise<Visits> {
  const visits: Visits = new Map(Object.keys(pages).map((page) => [page, []]))
  const names = Object.entries(pages)
  const one = async (person: number) => {
    // Nobody opens a page at the very moment at which all others do.
    await rest((person * LOOK_MS) / people, signal)
    for (let visit = person; !signal.aborted; visit++) {
      const [name, page] = names[visit % names.length] as [string, Page]
      const startedAt = performance.now()
      await Promise.all(page((visit * 7_919) % submissions).map((path) => get(api + path, token)))
      visits.get(name)?.push(performance.now() - startedAt)
      await rest(LOOK_MS, signal)
    }
  }
  await Promise.all(Array.from({ length: people }, (_, person) => one(person)))
  return visits
}

async function get(url: string, token: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  const body = await answer.text()
  if (!answer.ok) throw new Error(`${url} was answered ${answer.status}: ${body.slice(0, 200)}`)
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const wake = () => {
    clearTimeout(timer)
    resolve()
  }
  signal.addEventListener('abort', wake, { once: true })
  return promise.finally(() => signal.removeEventListener('abort', wake))
}
