import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { crc32 } from 'node:zlib'
import { openPromise } from 'yauzl'
import { messageOf } from '../../base/errors.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { DeliveryVerifier } from '../../upstream/webhook/signature.ts'
import { type Packed, SEAL, SEAL_LENGTH } from './zip.ts'

export const MANIFEST = 'manifest.json'
export const DELIVERIES = 'deliveries/'

/**
 * Description of a delivery. In the archive, the description follows the file with the delivery's body.
 * `secret_tag` is null if the signature matched no configured secret at the export.
 */
export type PackedDelivery = { account: string; received_at: TimeText; secret_tag: string | null; headers: Record<string, string> }

/**
 * Checks the files of an exported record, and the signatures of its deliveries. Stops at the first damaged file or
 * wrong signature.
 * @param verifiers the verifiers of signatures, by account.
 * @returns `problems`: texts that name the file. `verified`: number of signatures that match.
 * `unverified`: number of signatures that matched no secret at the export, or whose secret isn't configured now.
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
      const isKept = current === MANIFEST || current.startsWith(DELIVERIES)
      const [body, hash, chunks] = [last, createHash('sha256'), [] as Buffer[]]
      let crc = 0
      for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
        hash.update(chunk)
        crc = crc32(chunk, crc)
        if (isKept) chunks.push(chunk)
      }
      if (crc !== entry.crc32) throw new Error('its checksum differs')
      last = Buffer.concat(chunks)
      hashes.set(current, hash.digest('hex'))
      if (current.startsWith(DELIVERIES) && current.endsWith('.json'))
        signatures[verify(JSON.parse(String(last)) as PackedDelivery, body, verifiers)] += 1
    }
    current = MANIFEST
    const { files } = JSON.parse(String(last)) as { files: Packed }
    const expected = new Map(files.map((file) => [file.path, file.sha256]))
    hashes.delete(MANIFEST)
    for (const name of new Set([...expected.keys(), ...hashes.keys()]))
      if (hashes.get(name) !== expected.get(name)) problems.push(`${name} ${hashes.has(name) ? 'differs from the manifest' : 'is missing'}`)
    const seal = createHash('sha256')
    for await (const chunk of createReadStream(path, { end: zip.fileSize - SEAL_LENGTH - 1 })) seal.update(chunk as Buffer)
    if (problems.length === 0 && zip.comment !== `${SEAL}${seal.digest('hex')}`)
      problems.push(`${path} was changed outside of its files, such as in a date`)
  } catch (error) {
    problems.push(`${current} is damaged: ${messageOf(error)}`)
  }
  return { files: hashes.size, ...signatures, problems }
}

/** @throws Error if the secret is configured and the signature doesn't match the body. */
function verify(about: PackedDelivery, body: Buffer, verifiers: ReadonlyMap<string, DeliveryVerifier>): 'verified' | 'unverified' {
  const verifier = verifiers.get(about.account)
  if (about.secret_tag === null || verifier?.tags.includes(about.secret_tag) !== true) return 'unverified'
  if (!verifier.verifyAt(msFromTime(about.received_at), about.headers, body).ok) throw new Error('the signature does not match')
  return 'verified'
}
