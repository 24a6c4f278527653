import type { ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { AuthConfig, HttpDestination } from '../../../src/config/config.ts'
import type { DeliveryKind, Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import type { OpenDocument } from '../../../src/push/contract/documents.ts'
import { createHttp } from '../../../src/push/kinds/http.ts'
import { type Handler, type Service, startService } from '../../upstream/service.ts'
import { commonSettings } from '../common-settings.ts'

export function secret(text: string): Secret {
  return new Secret(text)
}

/** A destination that posts each change as JSON to `url`. */
export function destinationTo(url: string, own: Partial<HttpDestination> = {}): HttpDestination {
  return {
    ...commonSettings,
    name: 'ams',
    kind: 'http',
    accounts: ['acme'],
    timeoutMs: 5_000,
    scheduleMs: [1_000],
    concurrency: 4,
    idempotent: false,
    settings: { base_url: url },
    auth: null,
    tls: null,
    request: template('$url(settings.base_url, "notes", submission_id)', '{"id": message_id, "text": after.detail}'),
    update: null,
    upload: null,
    documents: false,
    batch: null,
    lookup: null,
    lookupAfterMs: null,
    check: null,
    verify: null,
    probe: null,
    throttled: null,
    duplicate: null,
    refused: null,
    success: null,
    error: null,
    remoteId: null,
    suspendOn: [],
    ...own,
  }
}

export function template(url: string, body: string | null, own: Partial<HttpDestination['request']> = {}): HttpDestination['request'] {
  return { method: body === null ? 'GET' : 'POST', url, headers: {}, format: 'json', body, ...own }
}

export const loginAuth = {
  type: 'login',
  credentials: { username: new Secret('amy'), password: new Secret('the-password') },
  request: template('$url(settings.base_url, "auth", "login")', '{"username": credentials.username, "password": credentials.password}'),
  token: 'body.jwt',
  expiresIn: null,
  refresh: null,
  refreshToken: null,
  header: 'Authorization',
  scheme: 'Bearer',
} satisfies AuthConfig

export function passwordAuth(tokenUrl: string, own: Partial<Extract<AuthConfig, { type: 'password' }>> = {}) {
  const nothing = { clientId: null, clientSecret: null, scope: null, refresh: false }
  return { type: 'password', tokenUrl, username: 'ann', password: new Secret('pass word'), ...nothing, ...own } satisfies AuthConfig
}

const SUBMISSION = '3f0d9c52-7d4b-4b43-9a53-6a6f4e6d1f10'

export function itemOf(own: Partial<PushItem> = {}): PushItem {
  return {
    outboxId: 1,
    messageId: '9b2d8a8e-6c52-5b43-8f1e-2f9f4a1c7e55',
    destination: 'ams',
    account: 'acme',
    submissionId: SUBMISSION,
    entity: 'market_events',
    entityId: JSON.stringify([SUBMISSION, 'e1']),
    operation: 'insert',
    cause: 'webhook',
    seq: 7,
    snapshot: false,
    changedAt: '2026-03-04T05:06:07.123456Z',
    before: null,
    afterText: null,
    after: { type: 'quote_received', detail: 'Quote "A" & <B>', occurred_at: '2026-03-04T05:06:00.000000Z' },
    direction: null,
    echo: false,
    submission: { submission_id: SUBMISSION, state: 'open' },
    mapping: null,
    leftFilter: false,
    remoteId: null,
    attempts: 0,
    progress: null,
    ...own,
  }
}

export function openKind(destination: HttpDestination, clock = systemClock, openDocument?: OpenDocument): DeliveryKind {
  const log = createLog({ level: 'silent', pretty: false, secrets: [] })
  const kind = createHttp(destination, { clock, log, proxy: {}, ...(openDocument && { openDocument }) })
  onTestFinished(() => kind.close())
  return kind
}

export async function sendOne(kind: DeliveryKind, item: PushItem = itemOf()): Promise<Outcome> {
  const [outcome] = await kind.send([item], new AbortController().signal)
  if (outcome === undefined) throw new Error('no outcome')
  return outcome
}

export function serve(handler: Handler = (_, response) => ok(response)): Promise<Service> {
  return startService(handler)
}

export function ok(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
}
