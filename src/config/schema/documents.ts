import { z } from 'zod'
import { checkKey, key, region } from './aws.ts'
import { items, section, targetUrl, value, words } from './builders.ts'
import { alwaysRun } from './cross-checks.ts'
import { field } from './reading.ts'
import { flag, invalid, matching, ok, oneOf, type Parsed, size } from './values.ts'

/** Documents leave this machine encrypted. */
const checkEndpoint = z.superRefine((values: unknown, context) => {
  const endpoint = field(values, 'endpoint')
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null
  const isPlain = url?.protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (isPlain && field(values, 'allow_http') !== true)
    context.addIssue({ code: 'custom', path: ['endpoint'], message: 'must use https; http is only allowed with allow_http: true' })
}, alwaysRun)

const bucket = section({
  bucket: value(matching(/^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/, 'must be the name of a bucket'), 'is missing; name the bucket'),
  region: value(region).prefault('us-east-1'),
  endpoint: targetUrl().optional(),
  prefix: value((text) =>
    text === '' || /^[\w.-]+(?:\/[\w.-]+)*\/?$/.test(text)
      ? ok(text.replace(/[^/]$/, '$&/'))
      : invalid('must be words of letters, digits, _, . and -, separated by slashes, such as mirror/documents'),
  ).prefault(''),
  ...key,
  force_path_style: value(flag).prefault(false),
  allow_http: value(flag).prefault(false),
}).check(checkKey, checkEndpoint)

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
  mode: value(oneOf(['fetch', 'list', 'off']))
    .prefault('fetch')
    .meta({
      env: 'DOCUMENTS',
      description:
        '`fetch` the files of documents; `list`: only the rows of `documents`; `off`: neither, and rows that are there stay as they are. A change from or to `off` needs a restart; after `off` a `reconcile` adds the rows that were left out',
    }),
  max_bytes: value(size('1KiB', '64GiB'))
    .prefault('64MiB')
    .meta({ env: 'DOCUMENTS_MAX_BYTES', description: 'the longest file that is kept' }),
  total_bytes: value(size('1MiB', '1048576GiB')).prefault('20GiB').meta({
    env: 'DOCUMENTS_TOTAL_BYTES',
    description: 'all files together; beyond it nothing more is fetched',
  }),
  hosts: items(host, 100, words).prefault([]).meta({
    env: 'DOCUMENT_HOSTS',
    description:
      "hosts beside the service's that documents may be fetched from, with a port where it is not 443, separated by spaces or commas. Always over https, without the token, and never from a private address",
  }),
  dir: value(matching(/^[^\0]{1,4096}$/, 'must be the path of a folder'))
    .prefault('data/documents')
    .meta({
      env: 'DOCUMENTS_DIR',
      shown: '`data/documents` (`/data/documents` in the image)',
      description:
        'folder in which the bytes of documents are kept, as `<first two hex>/<sha256>`; created when it is missing. One mirror, one folder: what the database does not know is removed from it, unless `mirror-of-documents.txt` there names another mirror',
    }),
  s3: bucket.optional().meta({ description: 'keep them [in a bucket](#keep-documents-in-a-bucket) instead' }),
})
