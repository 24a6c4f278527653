import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import type { WebhookDestination } from '../../config/config.ts'
import type { TlsContent } from '../../upstream/network/guarded-connector.ts'

/** Paths of PEM files. */
export type TlsFiles = NonNullable<WebhookDestination['tls']>

type FileName = keyof TlsFiles & string

interface LoadedTls {
  readonly content: TlsContent
  /** Milliseconds since the epoch. Null if there is no client certificate. */
  readonly validFrom: number | null
  readonly validTo: number | null
}

/** Shortest time between two checks of the files, in ms. */
const LOOK_MS = 1_000
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * A destination's client certificate. Its files may be replaced at any time. If the new certificate is there but the
 * new key isn't, the earlier certificate stays in use.
 */
export class ClientTls {
  readonly #files: TlsFiles
  readonly #clock: Clock
  #loaded: LoadedTls | null = null
  #problem = ''
  #seen = ''
  #lookAt = Number.NEGATIVE_INFINITY

  constructor(files: TlsFiles, clock: Clock) {
    this.#files = files
    this.#clock = clock
  }

  /**
   * @returns the TLS content, or one sentence on why nothing can be sent. `content` is the same object until the files
   * change.
   */
  current(): { readonly content: TlsContent } | { readonly problem: string } {
    if (this.#clock.steady() >= this.#lookAt) this.#look()
    if (this.#loaded === null) return { problem: this.#problem }
    const problem = lifetimeProblem(this.#loaded, this.#clock.now())
    return problem === null ? { content: this.#loaded.content } : { problem }
  }

  #look(): void {
    this.#lookAt = this.#clock.steady() + LOOK_MS
    const seen = stampOf(this.#files)
    if (seen === this.#seen && this.#loaded !== null) return
    const found = loadTls(this.#files)
    if ('problem' in found) {
      this.#problem = found.problem
      return
    }
    this.#loaded = found
    this.#seen = seen
  }
}

/**
 * @returns one sentence per problem of the files. An expired certificate isn't reported, because a problem makes
 * all settings invalid.
 */
export function checkTlsFiles(destination: { readonly name: string; readonly tls: TlsFiles | null }): string[] {
  const found = destination.tls === null ? null : loadTls(destination.tls)
  return found !== null && 'problem' in found ? [`destination ${destination.name}: ${found.problem}`] : []
}

/** @returns one sentence if the client certificate is expired, not valid yet, or unusable; otherwise null. */
export function tlsWarning(files: TlsFiles, nowMs: number): string | null {
  const found = loadTls(files)
  return 'problem' in found ? found.problem : lifetimeProblem(found, nowMs)
}

function lifetimeProblem({ validFrom, validTo }: LoadedTls, nowMs: number): string | null {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  if (validTo !== null && validTo < nowMs)
    return `the client certificate (tls.cert) expired on ${day(validTo)}; replace the file, which is re-read automatically`
  if (validFrom !== null && validFrom > nowMs)
    return `the client certificate (tls.cert) is valid from ${day(validFrom)} on; use one that is valid now, or set the clock right`
  return null
}

function loadTls(files: TlsFiles): LoadedTls | { readonly problem: string } {
  const texts: Partial<Record<FileName, string>> = {}
  for (const name of ['cert', 'key', 'ca'] as const) {
    const path = files[name]
    if (path === null) continue
    try {
      texts[name] = readFileSync(path, 'utf8')
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
      return { problem: `tls.${name} names a file that cannot be read (${reason}); check the path and its permissions` }
    }
  }
  const { cert, key, ca } = texts
  if (ca !== undefined && certificateIn(ca) === null) return { problem: 'tls.ca names a file without a certificate in PEM form' }
  const trust = ca === undefined ? {} : { ca }
  if (cert === undefined || key === undefined) return { content: trust, validFrom: null, validTo: null }
  const certificate = certificateIn(cert)
  if (certificate === null) return { problem: 'tls.cert names a file without a certificate in PEM form' }
  const privateKey = keyIn(key)
  if (privateKey === null) return { problem: 'tls.key names a file without a private key in PEM form that needs no passphrase' }
  if (!certificate.checkPrivateKey(privateKey))
    return { problem: 'the key of tls.key does not belong to the certificate of tls.cert; use a matching pair' }
  return { content: { ...trust, cert, key }, validFrom: Date.parse(certificate.validFrom), validTo: Date.parse(certificate.validTo) }
}

/**
 * @returns the first certificate of a file; in `tls.cert`, the client's certificate. Null if the file has no
 * certificate, or an unreadable certificate.
 */
function certificateIn(pem: string): X509Certificate | null {
  try {
    const [first = null] = (pem.match(BLOCK) ?? []).map((block) => new X509Certificate(block))
    return first
  } catch {
    return null
  }
}

function keyIn(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem)
  } catch {
    return null
  }
}

/** @returns a text that changes if a file is written, is replaced, or can't be found. */
function stampOf(files: TlsFiles): string {
  return Object.values(files)
    .map((path) => (path === null ? '' : stampOfFile(path)))
    .join('/')
}

function stampOfFile(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    return `${ino} ${size} ${mtimeMs}`
  } catch {
    return ''
  }
}
