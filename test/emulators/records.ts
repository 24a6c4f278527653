import { type EmulatorServer, jsonIn, startServer } from './server.ts'

interface StoredRecord {
  readonly ref: string
  file: string | null
}

/** A system that takes a record first, and its document by a second request. */
interface RecordsEmulator extends EmulatorServer {
  readonly records: readonly StoredRecord[]
  methods(): string
}

/** Keys of its destination: the answers to `request` and `lookup` name the upload's address. */
export const recordRequests = {
  request: `{ method: POST, url: '$url(settings.base_url, "records")', format: json, body: '{"ref": message_id}' }`,
  upload: `{ method: PUT, url: 'body.put ?: body.found[0].put ?: body.found[0].file = true ? false', format: file, body: document.file }`,
  lookup: `{ method: GET, url: '$url(settings.base_url, "records", {"ref": message_id})', found: 'body.found[0].id' }`,
} as const

/** @param lag how many searches show nothing yet. */
export async function startRecords({ namesPutWhenFound = true, lag = 0 } = {}): Promise<RecordsEmulator> {
  const records: StoredRecord[] = []
  let searches = 0
  const put = (index: number) => `${server.url}/files/${index}`
  const server: EmulatorServer = await startServer(
    (request) => {
      const { method, path, query, body } = request
      if (method === 'POST') {
        const index = records.push({ ref: String(jsonIn(request)?.['ref']), file: null }) - 1
        return { status: 201, body: { id: `r-${index}`, put: put(index) } }
      }
      if (method === 'GET') {
        if (++searches <= lag) return { status: 200, body: { found: [] } }
        const found = records.flatMap(({ ref, file }, index) =>
          ref === query.get('ref')
            ? [{ id: `r-${index}`, file: file !== null, ...(namesPutWhenFound && file === null && { put: put(index) }) }]
            : [],
        )
        return { status: 200, body: { found } }
      }
      const record = records[Number(path.split('/').at(-1))]
      if (record === undefined) return { status: 404, body: {} }
      record.file = body
      return { status: 200, body: {} }
    },
    ({ method }) => method !== 'GET',
  )
  return { ...server, records, methods: () => server.arrived.map(({ method }) => method).join(' ') }
}
