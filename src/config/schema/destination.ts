import { z } from 'zod'
import { checkKey, key, region } from './aws.ts'
import { elapsed, isNonEmpty, items, secret, section, targetUrl, time, value, words } from './builders.ts'
import { checkCredentials, checkDocuments, checkSecrets, checkTls, checkTransport } from './destination-checks.ts'
import { expression, hostName, maxAge, privateKey, ratePerSecond, startPoint } from './destination-values.ts'
import { markUrl } from './secrets.ts'
import { anySecret, flag, matching, number, oneOf, webhookSecret } from './values.ts'
import { lookupAfter, verifying } from './verifying.ts'

/** Parses a name that becomes part of keys. */
export const keyName = matching(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or digit')

const missingSecret = 'is missing; set it, as a reference'
const word = value(matching(/^[a-z][a-z0-9_]{0,62}$/, 'must be a name of a-z, 0-9 and _'))
const filter = (what: string) =>
  items(word, 100, words).refine(isNonEmpty, `must name at least one ${what}; leave it out for all`).optional()

/** Waits between attempts; also for the defaults in `push`. */
export const schedule = items(time('1ms', '30d'), 50, words).refine(isNonEmpty, 'must hold at least one duration')
/** Limit for one attempt; also for the default in `push`. */
export const timeout = time('100ms', '10m')

const kinds = '`webhook`, `queue`, `http`, `adapter` or `file`'

/** Settings of every kind of destination. @param own what differs between the kinds. */
function common(own: { readonly idempotent: boolean; readonly mapping: readonly ('none' | 'required' | 'lookup')[] }) {
  return {
    name: value(keyName, 'is missing; give the destination a name, which stays its key for ever').meta({
      description: '1 to 63 of a-z, 0-9, _ and -, first a letter or digit; part of every key, so it stays',
    }),
    preset: value(matching(/./, 'must be the name of a preset'))
      .optional()
      .meta({ description: 'a destination that is ready but for your ids and secrets; yours go before its keys' }),
    accounts: items(value(keyName), 100, words)
      .refine(isNonEmpty, 'must name at least one account')
      .optional()
      .meta({ shown: 'the only one', description: 'whose changes it gets; needed where there are several accounts' }),
    entities: filter('table').meta({ shown: 'all', description: 'public tables, such as `market_events`, `thread_messages`, `quotes`' }),
    operations: filter('operation').meta({ shown: 'all', description: '`insert`, `update`, `gone`, `purged`' }),
    event_types: items(value(matching(/^[\x21-\x7e]{1,100}$/, 'must be an event type, without spaces')), 200, words)
      .refine(isNonEmpty, 'must name at least one type; leave it out for all')
      .optional()
      .meta({ shown: 'all', description: 'types of market events, such as `quote_received`; filters no other table' }),
    filter: value(expression).optional().meta({
      shown: 'none',
      description: '[JSONata](#filter-by-content) over the change, `row` and `submission`: only what it finds true goes out',
    }),
    personal_fields: items(value(matching(/^[a-z_]+\.[a-z_]+$/, 'must be a table, a dot and a column')), 200, words)
      .prefault([])
      .meta({ shown: 'none', description: '`table.column` of [personal data](#which-data-never-leave) that may go out' }),
    start: value(startPoint)
      .prefault('now')
      .meta({ description: 'where it begins when first seen: `now`, `snapshot`, or a number of the change log, behind which it begins' }),
    backfill: value(flag).prefault(false).meta({ description: 'whether it gets what happened before a submission was tracked' }),
    max_age: elapsed(maxAge).prefault('none').meta({ description: 'events and messages that happened longer ago are left out' }),
    on_dead: value(oneOf(['continue', 'hold']))
      .prefault('continue')
      .meta({ description: 'after a change that was given up, or may have arrived: `continue` with its submission, or `hold` it' }),
    mapping: value(oneOf(own.mapping)).prefault('none').meta({
      description: 'whether changes wait for a [client of the AMS](#map-submissions-to-clients-of-the-ams): `none`, `required`, `lookup`',
    }),
    allow_private: value(flag)
      .prefault(false)
      .meta({ description: 'whether it may lie on a loopback, private or link-local address, and use plain http' }),
    allow_hosts: items(value(hostName), 100, words)
      .refine(isNonEmpty, 'must name at least one host; leave it out for any')
      .optional()
      .meta({ shown: 'any', description: 'the only hosts that are connected to' }),
    timeout: timeout.optional().meta({ shown: 'that of `push`', description: 'longest try, 100ms to 10m' }),
    schedule: schedule.optional().meta({ shown: 'that of `push`', description: 'waits between tries' }),
    rps: value(ratePerSecond).prefault('none').meta({ description: 'tries a second at most, over all processes' }),
    idempotent: value(flag).prefault(own.idempotent).meta({ description: 'whether the same change may arrive twice without harm' }),
  }
}

/** Attempts in flight. Files and queues have no such setting: they take one batch after the other. */
const concurrency = (fallback: number) =>
  value(number(1, 256)).prefault(fallback).meta({
    description: 'tries in flight in each process, 1 to 256; of one submission only ever one',
  })

const pemFile = value(matching(/^\/[^\p{Cc}]*$/u, `must be a reference to a file in PEM form, $${'{file:PATH}'}`)).optional()

/** The client certificate of a destination, and the authorities that it trusts: paths, for the files may change. */
const tls = section({ cert: pemFile, key: pemFile, ca: pemFile }).check(checkTls).optional().meta({
  description:
    'references to PEM files: `cert` and `key` of a client certificate, `ca`: the only authorities that are trusted; read again when a file changes',
})

const webhook = section({
  kind: z.literal('webhook').meta({ description: kinds }),
  ...common({ idempotent: true, mapping: ['none', 'required'] }),
  concurrency: concurrency(16),
  url: targetUrl().meta({ description: 'https, without user and fragment' }),
  tls,
  secret: secret(webhookSecret, missingSecret).optional().meta({ description: '`whsec_` and base64 of 24 to 64 bytes' }),
  secrets: items(secret(webhookSecret, missingSecret), 2, words)
    .optional()
    .meta({ description: 'a list of two in place of `secret`, while one replaces the other: each signs' }),
}).check(checkSecrets, checkTransport)

const queue = section({
  kind: z.literal('queue').meta({ description: kinds }),
  ...common({ idempotent: true, mapping: ['none', 'required'] }),
  queue: z
    .discriminatedUnion('type', [section({ type: z.literal('sqs'), url: targetUrl(), region: value(region), ...key }).check(checkKey)], {
      error: (issue) => (issue.input === undefined ? 'is missing; set its type to sqs' : 'must be of the type sqs'),
    })
    .meta({ description: '`{ type: sqs, url, region, access_key_id, secret_access_key }`' }),
}).check(checkTransport)

const texts = z.record(
  z.string().max(200),
  markUrl(value(matching(/^[^\p{Cc}]*$/u, 'must be one line of text'))),
  'must hold names and values',
)

const request = {
  method: value<string>(oneOf(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])).prefault('POST'),
  url: markUrl(value(expression)),
  headers: z
    .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/), value(expression), {
      error: (issue) => (issue.code === 'invalid_key' ? 'is not a header name' : 'must hold headers and expressions'),
    })
    .prefault({}),
  format: value(oneOf(['json', 'xml', 'form', 'multipart', 'file'])).prefault('json'),
  body: value(expression).optional(),
}

const headerName = matching(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header')
const credentials = z.record(z.string().max(200), secret(anySecret, missingSecret), 'must hold names and references')

const auth = z
  .discriminatedUnion(
    'type',
    [
      section({
        type: z.literal('oauth2'),
        token_url: targetUrl(),
        client_id: value(matching(/^\S+$/, 'must be without spaces')),
        client_secret: secret(anySecret, missingSecret),
        scope: value(matching(/^[\x20-\x7e]+$/, 'must be scopes, separated by spaces')).optional(),
        audience: value(matching(/^[\x21-\x7e]+$/, 'must be without spaces')).optional(),
        fields: texts.prefault({}),
        send: value(oneOf(['basic', 'body'])).prefault('basic'),
        refresh: value(flag).prefault(false),
      }),
      section({
        type: z.literal('password'),
        token_url: targetUrl(),
        username: value(matching(/^[^\p{Cc}]+$/u, 'must be one line of text')),
        password: secret(anySecret, missingSecret),
        client_id: value(matching(/^\S+$/, 'must be without spaces')).optional(),
        client_secret: secret(anySecret, missingSecret).optional(),
        scope: value(matching(/^[\x20-\x7e]+$/, 'must be scopes, separated by spaces')).optional(),
        refresh: value(flag).prefault(false),
      }),
      section({
        type: z.literal('basic'),
        username: value(matching(/^[^\p{Cc}:]+$/u, 'must be one line of text without a colon')),
        password: secret(anySecret, missingSecret),
      }),
      section({ type: z.literal('bearer'), token: secret(anySecret, missingSecret) }),
      section({
        type: z.literal('header'),
        name: value(headerName),
        value: secret(anySecret, missingSecret),
      }),
      section({
        type: z.literal('login'),
        credentials,
        request: section(request),
        token: value(expression),
        expires_in: value(expression).optional(),
        refresh: section(request).optional(),
        refresh_token: value(expression).optional(),
        header: value(headerName).prefault('Authorization'),
        scheme: value(matching(/^[\x21-\x7e]*$/, 'must be one word')).prefault('Bearer'),
      }),
    ],
    'must be one of oauth2, password, basic, bearer, header, login',
  )
  .optional()

/** Most changes of one request: as many as are settled in one transaction. */
const MOST_IN_BATCH = 400

const http = section({
  kind: z.literal('http').meta({ description: kinds }),
  ...common({ idempotent: false, mapping: ['none', 'required'] }),
  concurrency: concurrency(4),
  settings: texts.prefault({}).meta({ description: 'names and texts that expressions see as `settings`; no secrets' }),
  auth: auth.meta({ shown: 'no auth', description: 'its `type`, one of the table below, and the keys of that' }),
  tls,
  request: section(request).meta({
    description: '`method` (`POST`), `url`, `headers`, `format` (`json`, `xml`, `form`, `multipart`, `file`), `body`',
  }),
  update: section(request).optional().meta({ description: 'the same, for changes of a record whose `remote_id` is known' }),
  upload: section(request)
    .optional()
    .meta({ description: 'the same, sent with a document once the record exists; sees the answer of `request` or `lookup` as `body`' }),
  documents: value(flag).prefault(false).meta({ description: 'whether a change that stores a [document](#send-documents-along) sends it' }),
  batch: section({
    max: value(number(1, MOST_IN_BATCH)),
    result: value(expression),
    by: value(oneOf(['entity', 'operation'])).optional(),
  })
    .optional()
    .meta({
      description: `[several changes in one request](templates.md#send-several-changes-in-one-request): \`max\` (1 to ${MOST_IN_BATCH}), \`result\`, \`by\` (\`entity\` or \`operation\`)`,
    }),
  lookup: section({ ...request, found: value(expression) })
    .optional()
    .meta({ description: 'the same, and `found`: whether a change has arrived' }),
  lookup_after: lookupAfter,
  check: section({ ...request, found: value(expression), same: value(expression).optional() })
    .optional()
    .meta({
      description: 'the same, `found`, and `same`: whether the target has a change whose `remote_id` is known (`destination verify`)',
    }),
  verify: verifying,
  probe: section(request).optional().meta({ description: 'the same: a harmless request for `destination test` and `doctor`' }),
  success: value(expression)
    .optional()
    .meta({ shown: 'any 2xx', description: 'whether the answer means taken, over its `status`, `headers` and `body`' }),
  throttled: value(expression)
    .optional()
    .meta({ description: 'whether it means later: `true`, or for how many seconds the destination waits; no try is counted' }),
  duplicate: value(expression)
    .optional()
    .meta({ description: 'whether the target says that it has it already, which counts as delivered' }),
  refused: value(expression).optional().meta({ description: 'whether no further try can help: the change is dead at once' }),
  error: value(expression).optional().meta({ shown: 'found in the answer', description: 'the reason that is shown of a refusal' }),
  remote_id: value(expression).optional().meta({ description: "the target's id of the record, kept for `update`" }),
  suspend_on: items(value(number(400, 599)), 50, words)
    .prefault([])
    .meta({
      description: 'further statuses, such as 400 or 500, by which the endpoint refuses every message; they suspend the destination',
    }),
}).check(checkTransport, checkDocuments)

const adapter = section({
  kind: z.literal('adapter').meta({ description: kinds }),
  ...common({ idempotent: false, mapping: ['none', 'required', 'lookup'] }),
  concurrency: concurrency(4),
  adapter: value(matching(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be the name of an adapter')).meta({
    description: 'its name: [`ams360`](presets/README.md#ams360-the-adapter-ams360)',
  }),
  url: targetUrl().meta({ description: 'of the AMS' }),
  settings: texts.prefault({}).meta({ description: 'names and texts, as the adapter asks; a missing or unknown one is told at the start' }),
  credentials: credentials.prefault({}).meta({ description: 'names and references, likewise' }),
}).check(checkTransport)

const path = value(matching(/^[^\p{Cc}]+$/u, 'must be the path of a folder'))

const file = section({
  kind: z.literal('file').meta({ description: kinds }),
  ...common({ idempotent: true, mapping: ['none', 'required'] }),
  format: value(oneOf(['ndjson', 'csv']))
    .prefault('ndjson')
    .meta({ description: '`ndjson`, a JSON object a line, or `csv`' }),
  byte_order_mark: value(flag).prefault(false).meta({ description: 'whether CSV begins with U+FEFF, by which Excel tells UTF-8' }),
  per: value(oneOf(['batch', 'submission']))
    .prefault('batch')
    .meta({ description: 'files of whatever waits, or one for each `submission` (at most 16 changes, the next file goes on)' }),
  target: z
    .discriminatedUnion(
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
    )
    .meta({
      description:
        '`{ type: folder, path }`, or `{ type: sftp, host, port (22), username, password, private_key or both, host_key, path }`',
    }),
  max_rows: value(number(1, 1_000_000))
    .prefault(10_000)
    .meta({ description: 'rows of one delivery at most; of large rows fewer, about 16 MiB of them' }),
  gather: time('1ms', '24h').prefault('60s').meta({ description: 'how long changes are gathered before files are written' }),
  documents: value(flag).prefault(false).meta({ description: 'whether [documents](#send-documents-along) are copied beside the rows' }),
}).check(checkTransport, checkDocuments)

/** One destination in the settings file. */
export const destinationSchema = z.discriminatedUnion('kind', [webhook, queue, http, adapter, file], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be one of webhook, queue, http, adapter, file' : 'must hold keys and values'),
})

export type DestinationSettings = z.output<typeof destinationSchema>
