import { createHash, randomBytes } from 'node:crypto'

/** Digits of a seq in a name, so that the order of names is the order of seqs. */
const SEQ_DIGITS = 12
/** Hexadecimal digits of a hash in a name. */
const HASH_DIGITS = 16

/** What a file holds, as its name and the manifest say it. */
export interface FileFacts {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  /** Hexadecimal. */
  readonly sha256: string
  readonly firstSeq: number
  readonly lastSeq: number
  /** Of a file that holds one submission: whose it is. */
  readonly account: string | null
  readonly submissionId: string | null
}

/**
 * @param parts the destination and, of a file of one submission, the account and the submission or entity.
 * @param hash hexadecimal, of the bytes: the same rows have the same name, however often they are written.
 */
export function fileName(
  parts: readonly string[],
  { firstSeq, lastSeq }: Pick<FileFacts, 'firstSeq' | 'lastSeq'>,
  hash: string,
  extension: string,
): string {
  const range = [firstSeq, lastSeq].map((seq) => String(seq).padStart(SEQ_DIGITS, '0')).join('-')
  return `${[...parts.map(plain), range, hash.slice(0, HASH_DIGITS)].join('_')}.${extension}`
}

/** The name of the manifest of these files: that of a single file of a batch with another ending. */
export function manifestName(destination: string, files: readonly FileFacts[]): string {
  const [first] = files
  const hash = files.length === 1 && first ? first.sha256 : sha256(files.map((file) => file.sha256).join())
  const range = { firstSeq: Math.min(...files.map((file) => file.firstSeq)), lastSeq: Math.max(...files.map((file) => file.lastSeq)) }
  return fileName([destination], range, hash, 'manifest.json')
}

/**
 * The manifest: what the files of one delivery hold. It bears no time, so that the same delivery, tried again, is the same file.
 */
export function manifestText(destination: string, files: readonly FileFacts[]): string {
  const listed = files.map((file) => ({
    name: file.name,
    rows: file.rows,
    bytes: file.bytes,
    sha256: file.sha256,
    first_seq: file.firstSeq,
    last_seq: file.lastSeq,
    ...(file.account === null ? {} : { account: file.account, submission_id: file.submissionId }),
  }))
  const rows = files.reduce((sum, file) => sum + file.rows, 0)
  return `${JSON.stringify({ version: 1, destination, rows, files: listed }, null, 2)}\n`
}

/** A name that nobody else writes to, and that what watches for `*.csv` does not see. */
export function temporaryName(destination: string): string {
  return `.${destination}~${randomBytes(8).toString('hex')}.part`
}

/** @returns whether a file is a temporary one of this destination, and of no other. */
export function isTemporary(destination: string, name: string): boolean {
  const start = `.${destination}~`
  return name.startsWith(start) && /^[0-9a-f]{16}\.part$/.test(name.slice(start.length))
}

function plain(part: string): string {
  return part.replace(/[^A-Za-z0-9._-]/g, '-')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
