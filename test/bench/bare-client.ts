import { type Agent, request } from 'undici'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { createUpstreamClient, type UpstreamClient } from '../../src/upstream/client.ts'
import { silentLog } from '../tools/databases.ts'
import type { ServedFeeds } from './sandbox-process.ts'

const PAGE = 100

/** The product's client, without a rate limit. */
export function clientOf(feeds: Pick<ServedFeeds, 'baseUrl' | 'clientId' | 'clientSecret'>): UpstreamClient {
  return createUpstreamClient({
    account: 'bench',
    baseUrl: feeds.baseUrl,
    credentials: [{ id: feeds.clientId, secret: { reveal: () => feeds.clientSecret } }],
    scope: 'broker_mcp',
    requestsPerSecond: 1_000_000,
    proxy: {},
    clock: systemClock,
    observer: silentObserver,
    log: silentLog,
  })
}

export async function bareToken({ baseUrl, clientId, clientSecret }: ServedFeeds, dispatcher: Agent): Promise<string> {
  const token = await request(`${baseUrl}/oauth/token`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }).toString(),
  })
  return ((await token.body.json()) as { access_token: string }).access_token
}

export async function readFeedBare(url: string, items: 'events' | 'messages', token: string, dispatcher: Agent): Promise<number> {
  let count = 0
  for (let since: string | null = null; ; ) {
    const query: string = since === null ? '' : `&since=${encodeURIComponent(since)}`
    const page = (await bareJson(`${url}?limit=${PAGE}${query}`, token, dispatcher)) as Page
    count += page[items]?.length ?? 0
    if (page.next_cursor === null) return count
    since = page.next_cursor
  }
}

interface Page {
  readonly events?: unknown[]
  readonly messages?: unknown[]
  readonly next_cursor: string | null
}

export async function bareJson(url: string, token: string, dispatcher: Agent): Promise<unknown> {
  const answer = await request(url, { dispatcher, headers: { authorization: `Bearer ${token}` } })
  return answer.body.json()
}
