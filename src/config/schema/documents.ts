import { z } from 'zod'
import { field } from '../sources/reading.ts'
import { items, secret, section, value, words } from './builders.ts'
import { alwaysRun } from './cross-checks.ts'
import { destinationUrl } from './destination-values.ts'
import { anySecret, flag, invalid, matching, ok, oneOf, type Parsed, size } from './values.ts'

/** The two halves of a key come together, and documents leave this machine encrypted. */
const checkBucket = z.superRefine((values: unknown, context) => {
  const given = (key: string) => field(values, key) !== undefined
  const missing = 'is missing; set it, or leave both halves of the key out'
  if (given('secret_access_key') && !given('access_key_id')) context.addIssue({ code: 'custom', path: ['access_key_id'], message: missing })
  if (given('access_key_id') && !given('secret_access_key'))
    context.addIssue({ code: 'custom', path: ['secret_access_key'], message: missing })
  const endpoint = field(values, 'endpoint')
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null
  const isPlain = url?.protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (isPlain && field(values, 'allow_http') !== true)
    context.addIssue({ code: 'custom', path: ['endpoint'], message: 'must use https; http is only allowed with allow_http: true' })
}, alwaysRun)

const bucket = section({
  bucket: value(matching(/^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/, 'must be the name of a bucket'), 'is missing; name the bucket'),
  region: value(matching(/^[a-z0-9-]{1,64}$/, 'must be a region such as eu-central-1')).prefault('us-east-1'),
  endpoint: value(destinationUrl).optional(),
  prefix: value(
    matching(/^[\w.-]+(?:\/[\w.-]+)*\/?$/, 'must be words of letters, digits, _, . and -, separated by slashes, such as mirror/documents'),
  ).optional(),
  access_key_id: value(matching(/^[\x21-\x7e]{1,256}$/, 'must be the id of a key, without spaces')).optional(),
  secret_access_key: secret(anySecret, '').optional(),
  force_path_style: value(flag).prefault(false),
  allow_http: value(flag).prefault(false),
}).check(checkBucket)

/** Whose documents may be fetched without the token. */
const host = value((text: string): Parsed<string> => {
  const name = text.trim().toLowerCase()
  const isHost =
    /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[1-9]\d{0,4})?$/.test(name) &&
    URL.parse(`https://${name}`)?.host === name.replace(/:443$/, '')
  return isHost ? ok(name.replace(/:443$/, '')) : invalid('must be a host such as documents.example.com, with a port where it is not 443')
})

/** Which documents are fetched, and where their bytes are kept. */
export const documentsSchema = section({
  mode: value(oneOf(['fetch', 'list', 'off'])).prefault('fetch'),
  max_bytes: value(size('1KiB', '64GiB')).prefault('64MiB'),
  total_bytes: value(size('1MiB', '1048576GiB')).prefault('20GiB'),
  hosts: items(host, 100, words).prefault([]),
  dir: value(matching(/^[^\0]{1,4096}$/, 'must be the path of a folder')).prefault('data/documents'),
  s3: bucket.optional(),
})
