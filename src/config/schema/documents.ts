import { checkKey, key, region } from './aws.ts'
import { items, section, targetUrl, value, words } from './builders.ts'
import { flag, invalid, matching, ok, oneOf, type Parsed, size } from './values.ts'

const bucket = section({
  bucket: value(
    matching(/^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/, 'must be the name of a bucket'),
    'is missing; set it to the bucket',
  ),
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
})
  .check(checkKey)
  .refine(({ endpoint, allow_http }) => allow_http || endpoint === undefined || !isPlain(new URL(endpoint)), {
    path: ['endpoint'],
    message: 'must use https; http is only allowed with allow_http: true',
  })

/** True if documents would be sent to this endpoint unencrypted over a network. */
function isPlain({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

/** A host from which documents may be fetched, without sending the token. */
const host = value((text: string): Parsed<string> => {
  const name = text.trim().toLowerCase()
  const isHost =
    /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[1-9]\d{0,4})?$/.test(name) &&
    URL.parse(`https://${name}`)?.host === name.replace(/:443$/, '')
  return isHost ? ok(name.replace(/:443$/, '')) : invalid('must be a host such as documents.example.com, with a port if it is not 443')
})

/** Which documents to fetch, and where to store them. */
export const documentsSchema = section({
  mode: value(oneOf(['fetch', 'list', 'off']))
    .prefault('fetch')
    .meta({
      env: 'DOCUMENTS',
      description:
        '`fetch` the files of documents; `list`: only the rows of `documents`; `off`: neither (existing rows stay). A change from or to `off` needs a restart; after `off`, `reconcile` adds the missing rows',
    }),
  max_bytes: value(size('1KiB', '64GiB')).prefault('64MiB').meta({ env: 'DOCUMENTS_MAX_BYTES', description: 'longest file to store' }),
  total_bytes: value(size('1MiB', '1048576GiB')).prefault('20GiB').meta({
    env: 'DOCUMENTS_TOTAL_BYTES',
    description: 'limit for all files together; when it is reached, fetching stops',
  }),
  hosts: items(host, 100, words).prefault([]).meta({
    env: 'DOCUMENT_HOSTS',
    description:
      'more hosts to fetch documents from, separated by spaces or commas, with a port if it is not 443. Always over https, without the token, and never from a private address',
  }),
  dir: value(matching(/^[^\0]{1,4096}$/, 'must be the path of a folder'))
    .prefault('data/documents')
    .meta({
      env: 'DOCUMENTS_DIR',
      shown: '`data/documents` (`/data/documents` in the image)',
      description:
        'folder for the files of documents, as `<first two hex>/<sha256>`; created if missing. One folder per mirror: files that the database does not know are removed, unless `mirror-of-documents.txt` there names another mirror',
    }),
  s3: bucket.optional().meta({ description: 'store them [in a bucket](documents.md#use-a-bucket) instead' }),
})
