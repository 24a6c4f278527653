import { Secret } from '../../src/base/secret.ts'
import type { WebhookDestination } from '../../src/config/config.ts'
import { commonSettings } from '../push/common-settings.ts'

export const CONCURRENCY = 16

export const PUSH_SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

export function destinationTo(name: string, url: string): WebhookDestination {
  return {
    ...commonSettings,
    kind: 'webhook',
    name,
    url,
    secrets: [new Secret(PUSH_SECRET)],
    accounts: ['default'],
    entities: ['thread_messages'],
    personalFields: ['thread_messages.subject', 'thread_messages.body_text'],
    timeoutMs: 20_000,
    scheduleMs: [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 86_400_000],
    concurrency: CONCURRENCY,
    idempotent: true,
    tls: null,
  }
}

export function settingsFor(urls: readonly (readonly [name: string, url: string])[]): string {
  const destinations = urls.map(([name, url]) => ({
    name,
    kind: 'webhook',
    url,
    secret: '${BENCH_PUSH_SECRET}',
    entities: ['thread_messages'],
    personal_fields: ['thread_messages.subject', 'thread_messages.body_text'],
    allow_private: true,
  }))
  return JSON.stringify({ destinations })
}
