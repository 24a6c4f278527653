import { z } from 'zod'
import { isNonEmpty, items, secret, section, value, words } from './builders.ts'
import { checkCredentials, checkDocuments, checkSecrets, checkTransport } from './destination-checks.ts'
import { destinationUrl, expression, hostName, maxAge, privateKey, ratePerSecond, startPoint } from './destination-values.ts'
import { anySecret, duration, flag, matching, number, oneOf, webhookSecret } from './values.ts'

/** Parses a name that becomes part of keys. */
export const keyName = matching(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or digit')

const missingSecret = 'is missing; set it, as a reference'
const word = value(matching(/^[a-z][a-z0-9_]{0,62}$/, 'must be a name of a-z, 0-9 and _'))
const filter = (what: string) =>
  items(word, 100, words).refine(isNonEmpty, `must name at least one ${what}; leave it out for all`).optional()

/** Waits between attempts; also for the defaults in `push`. */
export const schedule = items(value(duration('1ms', '30d')), 50, words).refine(isNonEmpty, 'must hold at least one duration')
/** Limit for one attempt; also for the default in `push`. */
export const timeout = value(duration('100ms', '10m'))

/** Settings of every kind of destination. @param own what differs between the kinds. */
function common(own: { readonly idempotent: boolean; readonly mapping: readonly ('none' | 'required' | 'lookup')[] }) {
  return {
    name: value(keyName, 'is missing; give the destination a name, which stays its key for ever'),
    preset: value(matching(/./, 'must be the name of a preset')).optional(),
    accounts: items(value(keyName), 100, words).refine(isNonEmpty, 'must name at least one account').optional(),
    entities: filter('table'),
    operations: filter('operation'),
    event_types: items(value(matching(/^[\x21-\x7e]{1,100}$/, 'must be an event type, without spaces')), 200, words)
      .refine(isNonEmpty, 'must name at least one type; leave it out for all')
      .optional(),
    personal_fields: items(value(matching(/^[a-z_]+\.[a-z_]+$/, 'must be a table, a dot and a column')), 200, words).prefault([]),
    start: value(startPoint).prefault('now'),
    backfill: value(flag).prefault(false),
    max_age: value(maxAge).prefault('none'),
    on_dead: value(oneOf(['continue', 'hold'])).prefault('continue'),
    mapping: value(oneOf(own.mapping)).prefault('none'),
    allow_private: value(flag).prefault(false),
    allow_hosts: items(value(hostName), 100, words).refine(isNonEmpty, 'must name at least one host; leave it out for any').optional(),
    timeout: timeout.optional(),
    schedule: schedule.optional(),
    rps: value(ratePerSecond).prefault('none'),
    idempotent: value(flag).prefault(own.idempotent),
  }
}

/** Attempts in flight. File drops have no such setting: they write one file after the other. */
const concurrency = value(number(1, 256))

const webhook = section({
  kind: z.literal('webhook'),
  ...common({ idempotent: true, mapping: ['none', 'required'] }),
  concurrency: concurrency.prefault(16),
  url: value(destinationUrl),
  secret: secret(webhookSecret, missingSecret).optional(),
  secrets: items(secret(webhookSecret, missingSecret), 2, words).optional(),
}).check(checkSecrets, checkTransport)

const texts = z.record(z.string().max(200), value(matching(/^[^\p{Cc}]*$/u, 'must be one line of text')), 'must hold names and values')

const request = {
  method: value(oneOf(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])).prefault('POST'),
  url: value(expression),
  headers: z
    .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/), value(expression), {
      error: (issue) => (issue.code === 'invalid_key' ? 'is not a header name' : 'must hold headers and expressions'),
    })
    .prefault({}),
  format: value(oneOf(['json', 'xml', 'form', 'multipart', 'file'])).prefault('json'),
  body: value(expression).optional(),
}

const auth = z
  .discriminatedUnion(
    'type',
    [
      section({
        type: z.literal('oauth2'),
        token_url: value(destinationUrl),
        client_id: value(matching(/^\S+$/, 'must be without spaces')),
        client_secret: secret(anySecret, missingSecret),
        scope: value(matching(/^[\x20-\x7e]+$/, 'must be scopes, separated by spaces')).optional(),
        audience: value(matching(/^[\x21-\x7e]+$/, 'must be without spaces')).optional(),
        send: value(oneOf(['basic', 'body'])).prefault('basic'),
      }),
      section({
        type: z.literal('password'),
        token_url: value(destinationUrl),
        username: value(matching(/^[^\p{Cc}]+$/u, 'must be one line of text')),
        password: secret(anySecret, missingSecret),
        client_id: value(matching(/^\S+$/, 'must be without spaces')).optional(),
        client_secret: secret(anySecret, missingSecret).optional(),
        scope: value(matching(/^[\x20-\x7e]+$/, 'must be scopes, separated by spaces')).optional(),
      }),
      section({
        type: z.literal('basic'),
        username: value(matching(/^[^\p{Cc}:]+$/u, 'must be one line of text without a colon')),
        password: secret(anySecret, missingSecret),
      }),
      section({ type: z.literal('bearer'), token: secret(anySecret, missingSecret) }),
      section({
        type: z.literal('header'),
        name: value(matching(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header')),
        value: secret(anySecret, missingSecret),
      }),
    ],
    'must be one of oauth2, password, basic, bearer, header',
  )
  .optional()

const http = section({
  kind: z.literal('http'),
  ...common({ idempotent: false, mapping: ['none', 'required'] }),
  concurrency: concurrency.prefault(4),
  settings: texts.prefault({}),
  auth,
  request: section(request),
  update: section(request).optional(),
  upload: section(request).optional(),
  documents: value(flag).prefault(false),
  lookup: section({ ...request, found: value(expression) }).optional(),
  probe: section(request).optional(),
  success: value(expression).optional(),
  duplicate: value(expression).optional(),
  remote_id: value(expression).optional(),
  park_on: items(value(number(400, 599)), 50, words).prefault([]),
}).check(checkTransport, checkDocuments)

const adapter = section({
  kind: z.literal('adapter'),
  ...common({ idempotent: false, mapping: ['none', 'required', 'lookup'] }),
  concurrency: concurrency.prefault(4),
  adapter: value(matching(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be the name of an adapter')),
  url: value(destinationUrl),
  settings: texts.prefault({}),
  credentials: z.record(z.string().max(200), secret(anySecret, missingSecret), 'must hold names and references').prefault({}),
}).check(checkTransport)

const path = value(matching(/^[^\p{Cc}]+$/u, 'must be the path of a folder'))

const file = section({
  kind: z.literal('file'),
  ...common({ idempotent: true, mapping: ['none', 'required'] }),
  format: value(oneOf(['ndjson', 'csv'])).prefault('ndjson'),
  per: value(oneOf(['batch', 'submission'])).prefault('batch'),
  target: z.discriminatedUnion(
    'type',
    [
      section({ type: z.literal('folder'), path }),
      section({
        type: z.literal('sftp'),
        host: value(hostName),
        port: value(number(1, 65_535)).prefault(22),
        username: value(matching(/^[^\p{Cc}]+$/u, 'must be one line of text')),
        password: secret(anySecret, missingSecret).optional(),
        private_key: secret(privateKey, missingSecret).optional(),
        host_key: value(matching(/^SHA256:[A-Za-z0-9+/]{43}$/, 'must be SHA256: and the fingerprint, as ssh-keygen -lf prints it')),
        path,
      }).check(checkCredentials),
    ],
    { error: (issue) => (issue.input === undefined ? 'is missing; set its type to folder or sftp' : 'must be one of folder, sftp') },
  ),
  max_rows: value(number(1, 1_000_000)).prefault(10_000),
  gather: value(duration('1ms', '24h')).prefault('60s'),
  documents: value(flag).prefault(false),
}).check(checkTransport, checkDocuments)

/** One destination in the settings file. */
export const destinationSchema = z.discriminatedUnion('kind', [webhook, http, adapter, file], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be one of webhook, http, adapter, file' : 'must hold keys and values'),
})

export type DestinationSettings = z.output<typeof destinationSchema>
