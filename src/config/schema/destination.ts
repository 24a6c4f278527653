import { z } from 'zod'
import type { Operation } from '../../model/change.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { entities } from '../../model/entities.ts'
import { personalColumns } from '../../model/personal.ts'
import { checkKey, key, region } from './aws.ts'
import { checkPair, elapsed, isNonEmpty, items, secret, section, targetUrl, time, value, words } from './builders.ts'
import { cronOrOff } from './cron.ts'
import {
  checkDocuments,
  checkTransport,
  expression,
  hostName,
  knownName,
  maxAge,
  privateKey,
  ratePerSecond,
  startPoint,
} from './destination-values.ts'
import { markUrl } from './secrets.ts'
import { anySecret, flag, matching, number, oneOf, webhookSecret } from './values.ts'

/** A name that is stored as part of keys, so it can't change later. */
export const keyName = matching(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or digit')

const missingSecret = 'is missing; set it, as a reference'
/** Tables that the filter `entities` can name. */
export const tables = entities.map(({ table }) => table)
const operations: readonly Operation[] = ['insert', 'update', 'gone', 'purged']
const filter = (known: readonly string[], what: string) =>
  items(value(knownName(known, what)), 100, words)
    .refine(isNonEmpty, 'must name at least one; leave it out for all')
    .optional()

/**
 * The setting `schedule` of a destination: waits between attempts. Also the setting `push.schedule`, which is the
 * default for all destinations.
 */
export const schedule = items(time('1ms', '30d'), 50, words).refine(isNonEmpty, 'must hold at least one duration')
/**
 * The setting `timeout` of a destination: time limit for one attempt. Also the setting `push.timeout`, which is the
 * default for all destinations.
 */
export const timeout = time('100ms', '10m')

const line = value(matching(/^[^\p{Cc}]+$/u, 'must be one line of text'))

const kinds = '`webhook`, `queue`, `http`, `ams360` or `file`'

type Mapping = 'none' | 'required' | 'lookup'

/**
 * Settings that all kinds of destinations have.
 * @param own values that depend on the kind. `idempotent`: default of this setting. `mapping`: allowed values of this
 * setting; the first is its default.
 */
function common(own: { readonly idempotent: boolean; readonly mapping: readonly [Mapping, ...Mapping[]] }) {
  return {
    name: value(keyName, 'is missing; give the destination a name, which cannot change later').meta({
      description: '1 to 63 of a-z, 0-9, _ and -, first a letter or digit; part of every key, so it cannot change',
    }),
    preset: value(matching(/./, 'must be the name of a preset'))
      .optional()
      .meta({ description: 'a ready-made destination to which you add your ids and secrets; your keys override its keys' }),
    accounts: items(value(keyName), 100, words)
      .refine(isNonEmpty, 'must name at least one account')
      .optional()
      .meta({ shown: 'the only one', description: 'accounts whose changes it gets; required if there are several accounts' }),
    entities: filter(tables, 'a public table').meta({
      shown: 'all',
      description: 'public tables, such as `market_events`, `thread_messages`, `quotes`',
    }),
    operations: filter(operations, 'an operation').meta({ shown: 'all', description: '`insert`, `update`, `gone`, `purged`' }),
    event_types: items(value(matching(/^[\x21-\x7e]{1,100}$/, 'must be an event type, without spaces')), 200, words)
      .refine(isNonEmpty, 'must name at least one type; leave it out for all')
      .optional()
      .meta({ shown: 'all', description: 'types of market events, such as `quote_received`; filters no other table' }),
    filter: value(expression).optional().meta({
      shown: 'none',
      description: '[JSONata](#filter-by-content) over the change, `row` and `submission`; changes for which it is false are not sent',
    }),
    personal_fields: items(value(knownName(personalColumns, 'a personal column')), 200, words)
      .prefault([])
      .meta({ shown: 'none', description: '`table.column` of [personal data](#what-a-destination-receives) that may be sent' }),
    start: value(startPoint)
      .prefault('now')
      .meta({ description: 'where sending starts for a new destination: `now`, `snapshot`, or after a number of the change log' }),
    backfill: value(flag).prefault(false).meta({ description: 'whether to send history from before a submission was tracked' }),
    max_age: elapsed(maxAge).prefault('none').meta({ description: 'events and messages older than this are not sent' }),
    on_dead: value(oneOf(['continue', 'hold']))
      .prefault('continue')
      .meta({ description: 'after a dead-lettered change, or one with unknown outcome: `continue` with its submission, or `hold` it' }),
    mapping: value(oneOf(own.mapping)).prefault(own.mapping[0]).meta({
      description: 'whether changes wait for a [client of the AMS](#map-submissions-to-clients): `none`, `required`, `lookup`',
    }),
    allow_private: value(flag)
      .prefault(false)
      .meta({ description: 'whether a loopback, private or link-local address, and plain http, are allowed' }),
    allow_hosts: items(value(hostName), 100, words)
      .refine(isNonEmpty, 'must name at least one host; leave it out for any')
      .optional()
      .meta({ shown: 'any', description: 'the only hosts to connect to' }),
    timeout: timeout.optional().meta({ shown: 'that of `push`', description: 'longest attempt, 100ms to 10m' }),
    schedule: schedule.optional().meta({ shown: 'that of `push`', description: 'waits between attempts' }),
    rps: value(ratePerSecond).prefault('none').meta({ description: 'attempts per second at most, over all processes' }),
    idempotent: value(flag)
      .prefault(own.idempotent)
      .meta({ description: 'whether the destination handles the same change twice without harm' }),
  }
}

/**
 * Maximum number of attempts in flight. Files and queues don't have this setting, because they send one batch at a
 * time.
 */
const concurrency = (fallback: number) =>
  value(number(1, 256)).prefault(fallback).meta({
    description: 'attempts in flight in each process, 1 to 256; at most one per submission',
  })

const pemFile = value(matching(/^\/[^\p{Cc}]*$/u, `must be a reference to a file in PEM form, $${'{file:PATH}'}`)).optional()

/** Client certificate and trusted authorities of a destination. The values are paths, because the files may change. */
const tls = section({ cert: pemFile, key: pemFile, ca: pemFile })
  .check(checkPair('cert', 'key', 'is missing; set both cert and key'))
  .refine((files) => isNonEmpty(Object.keys(files)), 'is empty; set cert and key, or ca, or remove it')
  .optional()
  .meta({
    description:
      'references to PEM files: `cert` and `key` of a client certificate, `ca`: the only trusted authorities; re-read when a file changes',
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
    .meta({ description: 'two secrets instead of `secret`, during a rotation; each signs' }),
})
  .check(checkTransport)
  .refine(({ secret, secrets }) => secret === undefined || secrets === undefined, {
    path: ['secrets'],
    message: 'and secret are both set; keep one',
  })
  .refine(({ secret, secrets = [] }) => secret !== undefined || isNonEmpty(secrets), {
    path: ['secret'],
    message: 'is missing; set it, as a reference to a secret of whsec_ and base64',
  })

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
        username: line,
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

/** Maximum number of changes in one request. One transaction can store the results of this many changes. */
const MOST_IN_BATCH = 400

/** When to verify which changes a destination has. */
const verifying = section({ cron: value(cronOrOff), sample: value(number(1, 1_000_000)).optional() })
  .optional()
  .meta({
    description: '`cron`: when to verify what the target has. `sample`: how many changes to verify (default: all)',
  })

const lookupAfter = time('1ms', '1h').optional().meta({
  shown: 'none',
  description: 'how long the target may take to show a new record: if a `lookup` finds nothing within this time, the change waits',
})

const http = section({
  kind: z.literal('http').meta({ description: kinds }),
  ...common({ idempotent: false, mapping: ['none', 'required'] }),
  concurrency: concurrency(4),
  settings: texts.prefault({}).meta({ description: 'names and texts that expressions can read as `settings`; no secrets' }),
  auth: auth.meta({ shown: 'no auth', description: 'its `type` (see the table below) and the keys of that type' }),
  tls,
  request: section(request).meta({
    description: '`method` (`POST`), `url`, `headers`, `format` (`json`, `xml`, `form`, `multipart`, `file`), `body`',
  }),
  update: section(request).optional().meta({ description: 'the same, for changes to a record with a known `remote_id`' }),
  upload: section(request)
    .optional()
    .meta({ description: 'the same, sent with a document once the record exists; `body` is the answer of `request` or `lookup`' }),
  documents: value(flag).prefault(false).meta({ description: 'whether a change that stores a [document](#documents) includes it' }),
  batch: section({
    max: value(number(1, MOST_IN_BATCH)),
    result: value(expression),
    by: value(oneOf(['entity', 'operation'])).optional(),
  })
    .optional()
    .meta({
      description: `[several changes in one request](../templates.md#send-several-changes-in-one-request): \`max\` (1 to ${MOST_IN_BATCH}), \`result\`, \`by\` (\`entity\` or \`operation\`)`,
    }),
  lookup: section({ ...request, found: value(expression) })
    .optional()
    .meta({ description: 'the same, and `found`: whether a change has arrived' }),
  lookup_after: lookupAfter,
  check: section({ ...request, found: value(expression), same: value(expression).optional() })
    .optional()
    .meta({
      description: 'the same, `found`, and `same`: whether the target has a change with a known `remote_id` (`destination verify`)',
    }),
  verify: verifying,
  probe: section(request).optional().meta({ description: 'the same: a harmless request for `destination test` and `doctor`' }),
  success: value(expression)
    .optional()
    .meta({ shown: 'any 2xx', description: 'whether the answer means success, over its `status`, `headers` and `body`' }),
  throttled: value(expression)
    .optional()
    .meta({ description: 'whether it means "later": `true`, or how many seconds the destination waits; the attempt does not count' }),
  duplicate: value(expression).optional().meta({ description: 'whether the target already has the change, which counts as delivered' }),
  refused: value(expression).optional().meta({ description: 'whether retrying is useless: the change is dead-lettered immediately' }),
  error: value(expression).optional().meta({ shown: 'found in the answer', description: 'the reason to show for a rejection' }),
  remote_id: value(expression).optional().meta({ description: "the target's id of the record, kept for `update`" }),
  suspend_on: items(value(number(400, 599)), 50, words)
    .prefault([])
    .meta({
      description: 'more statuses, such as 400 or 500, with which the endpoint rejects every message; they suspend the destination',
    }),
}).check(checkTransport, checkDocuments)

const ams360 = section({
  kind: z.literal('ams360').meta({ description: kinds }),
  ...common({ idempotent: false, mapping: ['required', 'lookup'] }),
  concurrency: concurrency(4),
  url: targetUrl().meta({ description: 'the WSAPI address from Vertafore' }),
  agency: line.meta({ description: 'agency number' }),
  user: line.meta({ description: 'WSAPI user of the agency' }),
  password: secret(anySecret, missingSecret).meta({ description: 'its password' }),
  employee: line.optional().meta({ shown: 'none', description: 'the EmployeeCode of the login, if the agency requires one' }),
  customer_field: value(knownName(Object.keys(submissions.columns), 'a column of submissions'))
    .optional()
    .meta({
      shown: 'none',
      description: "for `mapping: lookup`: the column of `submissions` that holds the customer's number or id",
    }),
  namespace: line
    .prefault('http://www.WSAPI.AMS360.com/v3.0')
    .meta({ description: "WSAPI namespace, if the agency's WSDL has a different one" }),
})
  .check(checkTransport)
  .refine(({ mapping, customer_field }) => mapping !== 'lookup' || customer_field !== undefined, {
    path: ['customer_field'],
    message: 'is missing; name the column of submissions that holds the number or id of the customer',
  })

const path = value(matching(/^[^\p{Cc}]+$/u, 'must be the path of a folder'))

const file = section({
  kind: z.literal('file').meta({ description: kinds }),
  ...common({ idempotent: true, mapping: ['none', 'required'] }),
  format: value(oneOf(['ndjson', 'csv']))
    .prefault('ndjson')
    .meta({ description: '`ndjson`, a JSON object a line, or `csv`' }),
  byte_order_mark: value(flag).prefault(false).meta({ description: 'whether CSV begins with U+FEFF, so that Excel detects UTF-8' }),
  per: value(oneOf(['batch', 'submission']))
    .prefault('batch')
    .meta({ description: 'one file for all queued changes, or one per `submission` (at most 16 changes per file)' }),
  target: z
    .discriminatedUnion(
      'type',
      [
        section({ type: z.literal('folder'), path }),
        section({
          type: z.literal('sftp'),
          host: value(hostName),
          port: value(number(1, 65_535)).prefault(22),
          username: line,
          password: secret(anySecret, missingSecret).optional(),
          private_key: secret(privateKey, missingSecret).optional(),
          host_key: value(matching(/^SHA256:[A-Za-z0-9+/]{43}$/, 'must be SHA256: and the fingerprint, as ssh-keygen -lf prints it')),
          path,
        }).refine(({ password, private_key }) => password !== undefined || private_key !== undefined, {
          path: ['password'],
          message: 'is missing; set it or private_key',
        }),
      ],
      { error: (issue) => (issue.input === undefined ? 'is missing; set its type to folder or sftp' : 'must be one of folder, sftp') },
    )
    .meta({
      description:
        '`{ type: folder, path }`, or `{ type: sftp, host, port (22), username, password, private_key or both, host_key, path }`',
    }),
  max_rows: value(number(1, 1_000_000))
    .prefault(10_000)
    .meta({ description: 'most rows per file; fewer if rows are large (about 16 MiB)' }),
  gather: time('1ms', '24h').prefault('60s').meta({ description: 'how long to collect changes before writing files' }),
  documents: value(flag).prefault(false).meta({ description: 'whether to copy [documents](#documents) next to the rows' }),
}).check(checkTransport, checkDocuments)

export const destinationSchema = z.discriminatedUnion('kind', [webhook, queue, http, ams360, file], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be one of webhook, queue, http, ams360, file' : 'must hold keys and values'),
})

export type DestinationSettings = z.output<typeof destinationSchema>
