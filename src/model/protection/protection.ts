import { sealedParts } from '../../base/sealed.ts'
import { isHarmless, type Rewriting, rewriteJsonText, rewriteWords } from '../../base/tax-id-text.ts'
import { hasFormOfTaxId, isValueKey, namesTaxId, type TaxIdKeys, taxIdKeys } from '../../base/tax-ids.ts'
import type { EntityDescription, Row } from '../entity.ts'
import type { Json } from '../json.ts'
import { Cipher, type CipherPlace, type ProtectKey } from './cipher.ts'

/** What happens to tax ids before they are stored. */
export type ProtectMode = 'drop' | 'encrypt' | 'keep'

export interface ProtectionSettings {
  readonly mode: ProtectMode
  /** The first key encrypts; all keys decrypt. */
  readonly keys: readonly ProtectKey[]
  /** Further JSON keys of tax ids, in addition to the built-in keys. */
  readonly taxIdFields: readonly string[]
}

/** Stored instead of a dropped tax id. */
export const DROPPED = '[protected]'

/**
 * Protects tax ids at any depth: values under a tax-id key, and the value of an object that names a tax id (a
 * fact, an answer).
 * Protecting a value twice gives the same result. If the mode is `encrypt`, a value encrypted with another known key is
 * encrypted again with the first key.
 */
export class Protection {
  #mode: ProtectMode = 'drop'
  #keys: TaxIdKeys = taxIdKeys()
  #cipher: Cipher | null = null

  constructor(settings: ProtectionSettings) {
    this.use(settings)
  }

  /** Switches to other settings. @throws Error if `mode` is `encrypt` and there is no key. */
  use({ mode, keys, taxIdFields }: ProtectionSettings): void {
    if (mode === 'encrypt' && keys.length === 0) throw new Error('encryption needs a key')
    this.#mode = mode
    this.#keys = taxIdKeys(taxIdFields)
    this.#cipher = keys.length === 0 ? null : new Cipher(keys)
  }

  get mode(): ProtectMode {
    return this.#mode
  }

  /** Id of the key that encrypts tax ids; null if `mode` isn't `encrypt`. */
  get keyId(): string | null {
    return this.mode === 'encrypt' ? (this.#cipher?.keyId ?? null) : null
  }

  /** Id of the key that `seal` uses, in any mode; null without keys. */
  get sealKeyId(): string | null {
    return this.#cipher?.keyId ?? null
  }

  /** Encrypts a whole text, in any mode. @throws Error without keys. */
  seal(text: string, place: CipherPlace): string {
    if (this.#cipher === null) throw new Error('nothing can be encrypted without PROTECT_KEYS')
    return this.#cipher.seal(text, place)
  }

  /** @returns the plain text of `sealed`; null if no known key encrypted it for this place. */
  open(sealed: string, place: CipherPlace): string | null {
    return this.#cipher?.open(sealed, place) ?? null
  }

  /** The rules that recognize tax-id keys; see `TaxIdKeys.rule`. */
  get rule(): readonly string[] {
    return this.#keys.rule
  }

  /**
   * Protects the tax ids in JSON text. Also searches text that isn't JSON, and never throws.
   * @returns the same text if it contains no tax id.
   */
  text(text: string, place: CipherPlace, isOfTaxId = false): string {
    if (!isOfTaxId && !this.#keys.mayBeIn(text)) return text
    return rewriteJsonText(text, this.#rewriting(place), { key: place.column, isOfTaxId })
  }

  /** Like `text`, but drops every tax id, in any mode. */
  dropped(text: string): string {
    if (!this.#keys.mayBeIn(text)) return text
    const replace = (value: string) => (isHarmless(value, this.#keys) ? value : `"${DROPPED}"`)
    return rewriteJsonText(text, { keys: this.#keys, replace })
  }

  /** Like `text`, for a parsed value. */
  json(value: Json, place: CipherPlace, isOfTaxId = false): Json {
    if (typeof value === 'string') return this.#words(value, place, isOfTaxId)
    if (typeof value !== 'object' || value === null) return value
    const text = textOf(value)
    if (text === null) return value
    const written = this.text(text, place, isOfTaxId)
    return written === text ? value : (JSON.parse(written) as Json)
  }

  /**
   * Protects the tax ids in a row.
   * @param row some or all columns of a row, including its key.
   * @returns the same object if the row contains no tax id.
   */
  row<R extends Row>(entity: Pick<EntityDescription, 'table' | 'key' | 'fields'>, row: R): R {
    const isOfTaxId = namesTaxId(row, this.#keys)
    let written: Row | null = null
    for (const [column, value] of Object.entries(row)) {
      if (value === null || entity.key.includes(column)) continue
      const place = placeOf(entity, row, column)
      const kind = entity.fields[column]?.kind ?? 'json'
      // A `raw` column is never replaced as a whole, because it must stay JSON text. Postgres checks this.
      const hasForm = typeof value === 'string' && hasFormOfTaxId(column, value)
      const isWhole = kind !== 'raw' && (this.#keys.has(column) || (isOfTaxId && (isValueKey(column) || hasForm)))
      const next = isWhole ? this.#whole(value, kind, place) : this.#within(value, kind, place, isOfTaxId)
      if (next !== value) {
        written ??= { ...row }
        written[column] = next
      }
    }
    return (written ?? row) as R
  }

  /** Like `text`, for bytes. Bytes that aren't UTF-8 stay unchanged. */
  bytes(body: Buffer, place: CipherPlace): Buffer {
    const text = body.toString('latin1')
    const written = this.text(text, place)
    return written === text ? body : Buffer.from(written, 'latin1')
  }

  /** Like `reveal`, for bytes. */
  revealBytes(body: Buffer, place: CipherPlace): Buffer {
    if (this.#cipher === null) return body
    const text = body.toString('latin1')
    const written = this.reveal(text, place)
    return written === text ? body : Buffer.from(written, 'latin1')
  }

  /** @returns the JSON text after decrypting the values that were encrypted for `place`. */
  reveal(text: string, place: CipherPlace): string {
    if (this.#cipher === null || !text.includes('enc:')) return text
    const opened = (quoted: string): string => this.#cipher?.open(quoted.slice(1, -1), place) ?? quoted
    // Search by key first, then by the form of encrypted values. Some keys may no longer count as tax-id keys.
    const revealed = rewriteJsonText(text, { keys: this.#keys, replace: opened })
    return revealed.replace(/"enc:[a-z0-9_-]+:[A-Za-z0-9+/=]+"/g, opened)
  }

  /** @param value a value encrypted for place `from`. @returns the value encrypted for place `to`. */
  moved(value: Json, from: CipherPlace, to: CipherPlace): Json {
    if (this.#cipher === null || value === null) return value
    const text = JSON.stringify(value)
    const revealed = this.reveal(text, from)
    return revealed === text ? value : (JSON.parse(this.text(revealed, to)) as Json)
  }

  /** @returns the row with its encrypted values decrypted. A value that no known key can decrypt stays encrypted. */
  revealRow(entity: Pick<EntityDescription, 'table' | 'key' | 'fields'>, row: Row): Row {
    const revealed = Object.entries(row).map(([column, value]): [string, Json] => {
      const place = placeOf(entity, row, column)
      const isText = typeof value === 'string' && sealedParts(value) === null
      if (isText) return [column, this.reveal(value, place)]
      const text = textOf(value)
      return [column, text === null ? value : (JSON.parse(this.reveal(text, place)) as Json)]
    })
    return Object.fromEntries(revealed)
  }

  #whole(value: Json, kind: string, place: CipherPlace): Json {
    const text = JSON.stringify(value)
    const next = this.#replaced(text, place)
    if (next === text) return value
    // Columns of other kinds can't store the replacement text, so they become null.
    return kind === 'text' || kind === 'json' ? (JSON.parse(next) as Json) : null
  }

  #within(value: Json, kind: string, place: CipherPlace, isOfTaxId: boolean): Json {
    if (kind === 'raw') return typeof value === 'string' ? this.text(value, place, isOfTaxId) : value
    return kind === 'json' || kind === 'text' ? this.json(value, place, isOfTaxId) : value
  }

  #words(words: string, place: CipherPlace, isOfTaxId: boolean): string {
    if (!isOfTaxId && !this.#keys.mayBeIn(words)) return words
    return rewriteWords(words, this.#rewriting(place), { key: place.column, isOfTaxId })
  }

  #rewriting(place: CipherPlace): Rewriting {
    return { keys: this.#keys, replace: (value) => this.#replaced(value, place) }
  }

  /** @param value JSON text of a value. @returns JSON text of its replacement. */
  #replaced(value: string, place: CipherPlace): string {
    if (isHarmless(value, this.#keys)) return value
    const sealed = value.startsWith('"enc:') ? sealedParts(value.slice(1, -1)) : null
    if (this.mode === 'drop') return `"${DROPPED}"`
    const plain = sealed === null ? value : (this.#cipher?.open(value.slice(1, -1), place) ?? null)
    if (this.mode === 'keep') return plain ?? value
    // Text that no known key can decrypt stays as it is. Encrypting it a second time wouldn't protect it better.
    if (plain === null || value === `"${DROPPED}"` || sealed?.keyId === this.#cipher?.keyId) return value
    return JSON.stringify(this.#cipher?.seal(plain, place))
  }
}

export function placeOf(entity: Pick<EntityDescription, 'table' | 'key'>, row: Row, column: string): CipherPlace {
  const key = JSON.stringify(entity.key.slice(1).map((part) => row[part] ?? null))
  return { account: String(row['account']), table: entity.table, key, column }
}

/** The default protection: drops tax ids. */
export const dropping = new Protection({ mode: 'drop', keys: [], taxIdFields: [] })

/** @returns JSON text; null if the value is nested too deeply. */
function textOf(value: Json): string | null {
  try {
    return JSON.stringify(value)
  } catch {
    return null
  }
}
