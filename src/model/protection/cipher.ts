import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { HASH_BYTES, sealedParts } from '../../base/sealed.ts'

/** A key from the setting `PROTECT_KEYS`. */
export interface ProtectKey {
  /** Every text encrypted with this key contains this id. */
  readonly id: string
  /** 32 bytes. */
  readonly key: Buffer
}

/** Where a value is stored. If an encrypted text is moved to another place, it can't be decrypted there. */
export interface CipherPlace {
  readonly account: string
  readonly table: string
  /** The row's key without `account`, as JSON array text. */
  readonly key: string
  readonly column: string
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

interface Keys {
  readonly id: string
  readonly encrypt: Buffer
  readonly hash: Buffer
}

/** Encrypts and decrypts values with AES-256-GCM. The first key encrypts; all keys decrypt. */
export class Cipher {
  readonly #first: Keys
  readonly #byId: ReadonlyMap<string, Keys>

  /** @param keys at least one key, with distinct ids. */
  constructor(keys: readonly ProtectKey[]) {
    const all = keys.map(({ id, key }): Keys => ({ id, encrypt: derived(key, 'encrypt'), hash: derived(key, 'hash') }))
    const [first] = all
    if (first === undefined) throw new Error('a cipher needs a key')
    this.#first = first
    this.#byId = new Map(all.map((key) => [key.id, key]))
  }

  /** Id of the key that encrypts. */
  get keyId(): string {
    return this.#first.id
  }

  /** @returns `enc:<key id>:<base64>`. The result differs on each call; compare results with `isSameText`. */
  seal(value: string, place: CipherPlace): string {
    const { id, encrypt, hash } = this.#first
    const about = placeText(place)
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', encrypt, nonce).setAAD(about)
    const body = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
    const digest = createHmac('sha256', hash).update(about).update('\0').update(value).digest().subarray(0, HASH_BYTES)
    return `enc:${id}:${Buffer.concat([digest, nonce, cipher.getAuthTag(), body]).toString('base64')}`
  }

  /** @returns the decrypted text; null if no known key encrypted `text` for this place. */
  open(text: string, place: CipherPlace): string | null {
    const parts = sealedParts(text)
    const keys = parts === null ? undefined : this.#byId.get(parts.keyId)
    if (parts === null || keys === undefined) return null
    const bytes = Buffer.from(parts.base64, 'base64').subarray(HASH_BYTES)
    const tagAt = NONCE_BYTES + TAG_BYTES
    try {
      const decipher = createDecipheriv('aes-256-gcm', keys.encrypt, bytes.subarray(0, NONCE_BYTES))
      decipher.setAAD(placeText(place)).setAuthTag(bytes.subarray(NONCE_BYTES, tagAt))
      return Buffer.concat([decipher.update(bytes.subarray(tagAt)), decipher.final()]).toString('utf8')
    } catch {
      return null
    }
  }
}

function derived(key: Buffer, use: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `submission-mirror ${use}`, 32))
}

function placeText({ account, table, key, column }: CipherPlace): Buffer {
  return Buffer.from(JSON.stringify([account, table, key, column]))
}
