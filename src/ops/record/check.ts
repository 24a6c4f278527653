import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { openPromise } from 'yauzl'
import { z } from 'zod'
import { messageOf } from '../../base/errors.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { DeliveryVerifier } from '../../upstream/webhook/signature.ts'
import { SEAL, SEAL_LENGTH } from './zip.ts'

export const MANIFEST = 'manifest.json'
export const DELIVERIES = 'deliveries/'

const manifestSchema = z.object({ files: z.array(z.object({ path: z.string(), sha256: z.string() })) })
const deliverySchema = z.object({
  account: z.string(),
  received_at: z.string(),
  secret_tag: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
})

/**
 * Checks the files of an exported record, and the signatures of its deliveries, up to the first unreadable file. @param verifiers by account.
 * @returns problems that name the file; the number of signatures that match, and of those without a configured secret.
 */
export async function checkRecord(path: string, verifiers: ReadonlyMap<string, DeliveryVerifier>) {
  const problems: string[] = []
  const hashes = new Map<string, string>()
  const signatures = { verified: 0, unverified: 0 }
  let current = path
  let last = Buffer.alloc(0)
  try {
    const zip = await openPromise(path)
    for await (const entry of zip.eachEntry()) {
      current = entry.fileName
      if (hashes.has(current)) throw new Error('the archive has two files of this name')
      const body = last
      const isKept = current === MANIFEST || current.startsWith(DELIVERIES)
      const [hash, chunks] = [createHash('sha256'), [] as Buffer[]]
      let crc = 0
      for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
        hash.update(chunk)
        crc = crc32(chunk, crc)
        if (isKept) chunks.push(chunk)
      }
      if (crc !== entry.crc32) throw new Error('its checksum differs')
      last = Buffer.concat(chunks)
      hashes.set(current, hash.digest('hex'))
      // The description of a delivery follows its body.
      if (current.startsWith(DELIVERIES) && current.endsWith('.json')) signatures[verify(String(last), body, verifiers)] += 1
    }
    current = MANIFEST
    const { files } = manifestSchema.parse(JSON.parse(String(last)))
    const expected = new Map(files.map((file) => [file.path, file.sha256]))
    hashes.delete(MANIFEST)
    for (const name of new Set([...expected.keys(), ...hashes.keys()]))
      if (hashes.get(name) !== expected.get(name)) problems.push(`${name} ${hashes.has(name) ? 'differs from the manifest' : 'is missing'}`)
  } catch (error) {
    problems.push(`${current} is damaged: ${messageOf(error)}`)
  }
  if (problems.length === 0 && !(await isSealed(path))) problems.push(`${path} was changed outside of its files, such as in a date`)
  return { files: hashes.size, ...signatures, problems }
}

async function isSealed(path: string): Promise<boolean> {
  const { size } = await stat(path)
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { end: size - SEAL_LENGTH - 1 })) hash.update(chunk as Buffer)
  const seal = (await createReadStream(path, { start: size - SEAL_LENGTH }).toArray()).join('')
  return seal === `${SEAL}${hash.digest('hex')}`
}

/** @throws Error if the signature doesn't match the body, although its secret is configured. */
function verify(description: string, body: Buffer, verifiers: ReadonlyMap<string, DeliveryVerifier>): 'verified' | 'unverified' {
  const { account, received_at, headers, secret_tag } = deliverySchema.parse(JSON.parse(description))
  const verifier = verifiers.get(account)
  if (secret_tag === null || verifier?.tags.includes(secret_tag) !== true) return 'unverified'
  if (!verifier.verifyAt(msFromTime(received_at as TimeText), headers, body).ok) throw new Error('the signature does not match')
  return 'verified'
}
